package causeway.guard.writes;

/**
 * Refuses a write because the view did not end the copies of its objects, which would stay fresh (D10).
 * Nothing was written.
 */
public final class CopiesNotEndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CopiesNotEndedException(String message) {
        super(message);
    }
}
