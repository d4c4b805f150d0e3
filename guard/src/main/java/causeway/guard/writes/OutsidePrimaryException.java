package causeway.guard.writes;

/** A write outside its object's primary cluster (DC-M4). Nothing was written. */
public final class OutsidePrimaryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    OutsidePrimaryException(String what, String primary, String cluster) {
        super(message(what, primary, cluster));
    }

    public static String message(String what, String primary, String cluster) {
        return "[CW350] The primary cluster of " + what + " is " + primary
                + ", which is different from the processing cluster " + cluster
                + ": it can be changed only in " + primary + ".";
    }
}
