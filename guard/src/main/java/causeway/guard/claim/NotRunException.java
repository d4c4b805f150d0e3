package causeway.guard.claim;

/** Ends a statement that was sent to be parsed or analysed, or to learn whether claims are checked. */
public final class NotRunException extends RuntimeException {
    /** Spark parsed the statement, or analysed it too; Causeway refuses it for a reason of its own. */
    public static final String PARSED = "causeway: parsed";

    /** Followed by the version of the claims that this server checks. */
    static final String CHECKED = "causeway: claims are checked, version ";

    private static final long serialVersionUID = 1L;

    public NotRunException(String text) {
        super(text, null, false, false);
    }
}
