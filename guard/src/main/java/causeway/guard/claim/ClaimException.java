package causeway.guard.claim;

import causeway.guard.CodedException;

/** Refuses a statement that goes beyond its claim. Nothing was read or written. */
public final class ClaimException extends CodedException {
    static final String UNREADABLE = "CW360";
    public static final String NOT_READ = "CW361";
    public static final String PARTITION_NOT_READ = "CW362";
    public static final String CHANGED = "CW363";
    public static final String NOT_WRITTEN = "CW364";
    public static final String UNKNOWN_COMMAND = "CW365";

    private static final long serialVersionUID = 1L;

    public ClaimException(String code, String text) {
        super(code, code.equals(CHANGED) ? "40001" : "0A000", text, null);
    }

    /** Returns the refusal of a command whose writes are not known. */
    public static ClaimException unknownCommand(String reason) {
        return new ClaimException(UNKNOWN_COMMAND, "Refused, since " + reason + ".");
    }
}
