package causeway.guard;

/** Copies of what a statement is about to write would stay fresh (D10). Nothing was touched. */
public final class CopiesNotEndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CopiesNotEndedException(String message) {
        super(message);
    }
}
