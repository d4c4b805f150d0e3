package causeway.copy;

/** Delays a task so that it moves no more than a number of bytes a second. */
final class Throttle {
    private final long bytesPerSecond;
    private final long started = System.nanoTime();
    private long moved = 0;

    /** {@code bytesPerSecond} is the limit; 0 for none. */
    Throttle(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

    /** Counts bytes that were moved, and sleeps if the task is too fast. */
    void add(long bytes) throws InterruptedException {
        if (bytesPerSecond <= 0) {
            return;
        }
        moved += bytes;
        long due = (long) (moved * 1e9 / bytesPerSecond) - (System.nanoTime() - started);
        if (due > 0) {
            Thread.sleep(due / 1_000_000L, (int) (due % 1_000_000L));
        }
    }
}
