package causeway.guard.claim;

/**
 * Ends a script because one of its statements goes beyond the claim. It is none of Spark's own errors:
 * a handler of the script would catch such an error, and the script would go on without the statement.
 */
final class ScriptRefusedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ScriptRefusedException(ClaimException refused) {
        super(refused.getMessage(), refused);
    }
}
