package causeway.hudi;

/** One action of a timeline. Its completion time is empty while it runs, and always in layout 1. */
final class Instant {
    final String requested;
    final String completion;
    final String action;
    final boolean isCompleted;
    final String file;

    Instant(String requested, String completion, String action, boolean isCompleted, String file) {
        this.requested = requested;
        this.completion = completion;
        this.action = action;
        this.isCompleted = isCompleted;
        this.file = file;
    }

    /** Returns the completion time, or the request time if it has none. */
    String end() {
        return completion.isEmpty() ? requested : completion;
    }
}
