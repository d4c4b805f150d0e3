package causeway.guard.results;

import org.apache.spark.SparkThrowable;

/** A result does not fit into the memory that a server has for results; code CW366. */
final class ResultTooLargeException extends RuntimeException implements SparkThrowable {
    private static final long serialVersionUID = 1L;
    private static final String CODE = "CW366";

    ResultTooLargeException(long most) {
        super("[" + CODE + "] The results that clients of this Thrift Server have not closed, with this one,"
                + " take more than the " + (most >> 20) + " MB that it has for results."
                + " Write the result to a table, or SET spark.sql.thriftServer.incrementalCollect=true.");
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
        return "53200";
    }
}
