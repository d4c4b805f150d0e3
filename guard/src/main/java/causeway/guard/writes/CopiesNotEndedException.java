package causeway.guard.writes;

/** Copies of a table that a statement is about to write would stay fresh (D10). Nothing was written. */
public final class CopiesNotEndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CopiesNotEndedException(String message) {
        super(message);
    }
}
