package causeway.guard.facts;

/** The placement of a table or of its partitions could not be read. Nothing was read or written. */
public final class FactsUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** {@code objects} names the table or its partitions. */
    FactsUnavailableException(String objects, Exception cause) {
        super("[CW354] The clusters of " + objects + " cannot be read from the metastore: " + cause + ".",
                cause);
    }
}
