package causeway.guard.results;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The share of a server's heap that one packed result takes, out of the limit for all packed results.
 *
 * <p>Tasks that run in the server take memory for each block that they pack. The blocks of other executors'
 * tasks count when the server has received all of them.
 */
public final class ResultMemory implements AutoCloseable {
    /** The most copies of a block that Spark holds while it passes a task's result to the server. */
    private static final int COPIES = 3;
    /** A result of at most so many bytes is never refused, so that small queries run beside large ones. */
    private static final long ALWAYS_FITS = 4 << 20;

    private static final Map<String, ResultMemory> COLLECTING = new ConcurrentHashMap<>();
    private static long takenByAll;

    private final String id = UUID.randomUUID().toString();
    private final long limit;
    private long taken;
    private boolean isClosed;
    private ResultTooLargeException refusal;

    /** Begins a result that will be collected. `limit` is that of all results, in bytes. */
    public ResultMemory(long limit) {
        this.limit = limit;
        COLLECTING.put(id, this);
    }

    /** Returns the memory of the result that is collected under this id; null in another process. */
    public static ResultMemory of(String id) {
        return COLLECTING.get(id);
    }

    public String id() {
        return id;
    }

    /** Takes memory for a block that a task of this process has packed. */
    public void pack(long bytes) {
        change(COPIES * bytes);
    }

    /** Takes memory for the collected result, and gives back what its tasks took for copies. */
    public void keep(long bytes) {
        COLLECTING.remove(id);
        synchronized (ResultMemory.class) {
            change(bytes - taken);
        }
    }

    /** Returns the error by which the result was refused; null if it was not. */
    public RuntimeException refusal() {
        synchronized (ResultMemory.class) {
            return refusal;
        }
    }

    /** Gives all memory back. A task that still runs is refused at its next block. */
    @Override
    public void close() {
        COLLECTING.remove(id);
        synchronized (ResultMemory.class) {
            takenByAll -= taken;
            taken = 0;
            isClosed = true;
        }
    }

    private void change(long bytes) {
        synchronized (ResultMemory.class) {
            boolean fits = takenByAll + bytes <= limit || taken + bytes <= ALWAYS_FITS;
            if (isClosed || !fits) {
                refusal = new ResultTooLargeException(limit);
                throw refusal;
            }
            takenByAll += bytes;
            taken += bytes;
        }
    }
}
