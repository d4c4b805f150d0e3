package causeway.guard;

import org.apache.spark.SparkThrowable;

/**
 * A refusal that clients get as one of Spark's own errors: its class is a code of
 * docs/reference/errors.md, with which the message begins.
 */
public abstract class CodedException extends RuntimeException implements SparkThrowable {
    private static final long serialVersionUID = 1L;
    private final String code;
    private final String sqlState;

    /** `cause` may be null. */
    protected CodedException(String code, String sqlState, String text, Throwable cause) {
        super("[" + code + "] " + text, cause);
        this.code = code;
        this.sqlState = sqlState;
    }

    @Override
    public final String getErrorClass() {
        return code;
    }

    /** The name that Spark 4 has for the error class. */
    public final String getCondition() {
        return code;
    }

    @Override
    public final String getSqlState() {
        return sqlState;
    }
}
