package causeway.guard.claim;

/**
 * Ends a statement that does not run: the proxy sent it to have it parsed or analysed, or as a probe whether
 * the server checks claims. The proxy recognises the messages.
 */
public final class NotRunException extends RuntimeException {
    /** Spark parsed the statement, and analysed it if its claim says so. */
    public static final String PARSED = "causeway: parsed";

    /** Begins the reply to a probe. The version of the claims that this server checks follows. */
    static final String CHECKED = "causeway: claims are checked, version ";

    private static final long serialVersionUID = 1L;

    public NotRunException(String text) {
        super(text, null, false, false);
    }
}
