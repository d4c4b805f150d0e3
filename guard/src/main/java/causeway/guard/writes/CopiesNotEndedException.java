package causeway.guard.writes;

/**
 * The view did not end the copies of what a statement is about to write, so they would stay fresh (D10).
 * Nothing was written.
 */
public final class CopiesNotEndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CopiesNotEndedException(String message) {
        super(message);
    }
}
