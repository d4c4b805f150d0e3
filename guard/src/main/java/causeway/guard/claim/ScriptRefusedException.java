package causeway.guard.claim;

/**
 * Ends a script because one of its statements goes beyond the claim. It is no SparkThrowable: a handler of
 * the script would catch that, and the script would continue without the statement.
 */
final class ScriptRefusedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ScriptRefusedException(ClaimException refused) {
        super(refused.getMessage(), refused);
    }
}
