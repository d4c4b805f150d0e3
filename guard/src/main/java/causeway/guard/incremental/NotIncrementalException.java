package causeway.guard.incremental;

import org.apache.spark.SparkThrowable;

/**
 * A table of which the session wants the changed rows alone would be read in another way. The code is
 * that of docs/reference/errors.md.
 */
public final class NotIncrementalException extends RuntimeException implements SparkThrowable {
    private static final String CODE = "CW227";
    private static final long serialVersionUID = 1L;

    NotIncrementalException(String text) {
        super("[" + CODE + "] " + text);
    }

    NotIncrementalException(String text, Throwable cause) {
        super("[" + CODE + "] " + text, cause);
    }

    @Override
    public String getErrorClass() {
        return CODE;
    }

    /** The name that Spark 4 has for the error class. */
    public String getCondition() {
        return CODE;
    }

    @Override
    public String getSqlState() {
        return "0A000";
    }
}
