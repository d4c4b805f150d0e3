package causeway.guard.writes;

/** Refuses a write outside its object's primary cluster (DC-M4). Nothing was written. */
public final class OutsidePrimaryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** {@code object} names the table, partition or folder. */
    OutsidePrimaryException(String object, String primary, String cluster) {
        super(message(object, primary, cluster));
    }

    public static String message(String object, String primary, String cluster) {
        return "[CW350] The primary cluster of " + object + " is " + primary
                + ", which is different from the processing cluster " + cluster
                + ": it can be changed only in " + primary + ".";
    }
}
