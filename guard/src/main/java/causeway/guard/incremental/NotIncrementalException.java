package causeway.guard.incremental;

import causeway.guard.CodedException;

/** Refuses a read of a table of which the session wants the changed rows alone. */
public final class NotIncrementalException extends CodedException {
    private static final String CODE = "CW227";
    private static final long serialVersionUID = 1L;

    NotIncrementalException(String text) {
        this(text, null);
    }

    NotIncrementalException(String text, Throwable cause) {
        super(CODE, "0A000", text, cause);
    }
}
