package causeway.guard;

import org.apache.spark.SparkThrowable;

/**
 * A refusal that clients receive as one of Spark's own errors. Its error class is a code of
 * docs/reference/errors.md, and its message begins with that code.
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

    /** Returns the error class, by Spark 4's name for it. */
    public final String getCondition() {
        return code;
    }

    @Override
    public final String getSqlState() {
        return sqlState;
    }
}
