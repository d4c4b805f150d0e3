package causeway.guard.access;

import causeway.guard.CodedException;

/** Refuses a statement because a rule of the operator denies a read, or cannot be kept in the plan. */
public final class AccessException extends CodedException {
    static final String CODE = "CW107";

    private static final long serialVersionUID = 1L;

    AccessException(String text) {
        this(text, null);
    }

    AccessException(String text, Throwable cause) {
        super(CODE, "42501", text, cause);
    }

    /** Returns the exception with a message that begins with the code already. */
    static AccessException of(String message) {
        return new AccessException(message.substring(CODE.length() + 2).trim());
    }
}
