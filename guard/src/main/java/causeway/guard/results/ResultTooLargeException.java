package causeway.guard.results;

import causeway.guard.CodedException;

/** Refuses a result that does not fit into the memory that a server has for results. */
final class ResultTooLargeException extends CodedException {
    private static final long serialVersionUID = 1L;
    private static final String CODE = "CW366";

    ResultTooLargeException(long limit) {
        super(CODE, "53200", "The results that clients of this Thrift Server have not closed, with this one,"
                + " take more than the " + (limit >> 20) + " MB that it has for results."
                + " Write the result to a table, or SET spark.sql.thriftServer.incrementalCollect=true.", null);
    }
}
