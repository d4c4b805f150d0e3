package causeway.guard.claim;

import org.apache.spark.SparkThrowable;

/**
 * A statement goes beyond the claim that Causeway sent along. Nothing of it was done.
 *
 * <p>The codes are those of docs/reference/errors.md.
 */
public final class ClaimException extends RuntimeException implements SparkThrowable {
    static final String UNREADABLE = "CW360";
    public static final String NOT_READ = "CW361";
    public static final String PARTITION_NOT_READ = "CW362";
    public static final String CHANGED = "CW363";
    public static final String NOT_WRITTEN = "CW364";
    public static final String UNKNOWN_COMMAND = "CW365";

    private static final long serialVersionUID = 1L;
    private final String code;

    public ClaimException(String code, String text) {
        super("[" + code + "] " + text);
        this.code = code;
    }

    /** The refusal of a command whose writes are not known. */
    public static ClaimException unknownCommand(String what) {
        return new ClaimException(UNKNOWN_COMMAND, "Refused, since " + what + ".");
    }

    @Override
    public String getErrorClass() {
        return code;
    }

    /** The name that Spark 4 has for the error class. */
    public String getCondition() {
        return code;
    }

    @Override
    public String getSqlState() {
        return code.equals(CHANGED) ? "40001" : "0A000";
    }
}
