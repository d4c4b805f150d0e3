package causeway.hudi;

/** One action of a timeline. Its completion is empty while it runs, and always in layout 1. */
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

    /** Returns the last moment of the action that is known: its request in layout 1. */
    String end() {
        return completion.isEmpty() ? requested : completion;
    }
}
