package causeway.guard.access;

import org.apache.spark.SparkThrowable;

/** A rule of the operator denies what a statement reads, or cannot be kept with its plan. */
public final class AccessException extends RuntimeException implements SparkThrowable {
    /** The code of docs/reference/errors.md. */
    static final String CODE = "CW107";

    private static final long serialVersionUID = 1L;

    AccessException(String text) {
        this(text, null);
    }

    AccessException(String text, Throwable cause) {
        super("[" + CODE + "] " + text, cause);
    }

    /** Of a text that begins with the code. */
    static AccessException of(String message) {
        return new AccessException(message.substring(CODE.length() + 2).trim());
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
        return "42501";
    }
}
