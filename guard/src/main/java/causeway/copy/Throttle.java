package causeway.copy;

/** Sleeps so that a task moves no more than the given bytes a second. */
final class Throttle {
    private final long bytesPerSecond;
    private final long started = System.nanoTime();
    private long moved = 0;

    /** 0 is unbounded. */
    Throttle(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

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
