package causeway.guard.access;

import causeway.guard.CodedException;

/** A rule of the operator denies what a statement reads, or cannot be kept with its plan. */
public final class AccessException extends CodedException {
    static final String CODE = "CW107";

    private static final long serialVersionUID = 1L;

    AccessException(String text) {
        this(text, null);
    }

    AccessException(String text, Throwable cause) {
        super(CODE, "42501", text, cause);
    }

    /** Of a text that begins with the code. */
    static AccessException of(String message) {
        return new AccessException(message.substring(CODE.length() + 2).trim());
    }
}
