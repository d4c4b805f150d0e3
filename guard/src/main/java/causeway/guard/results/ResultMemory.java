package causeway.guard.results;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a server's heap that one packed result takes, out of what all of them may take.
 *
 * <p>Tasks that run in the server take memory for each block that they pack. The tasks of other
 * executors do not know it: their blocks count when the server has all of them.
 */
public final class ResultMemory implements AutoCloseable {
    /** Copies of a block that Spark holds at most while it passes a task's result to the server. */
    private static final int COPIES = 3;
    /** A result of so many bytes is never refused, so that small queries run beside large ones. */
    private static final long SMALL = 4 << 20;

    private static final Map<String, ResultMemory> COLLECTED = new ConcurrentHashMap<>();
    private static long takenByAll;

    private final String id = UUID.randomUUID().toString();
    private final long most;
    private long taken;
    private boolean isClosed;
    private ResultTooLargeException refusal;

    /** Memory of a result that is going to be collected; all results may take `most` bytes. */
    public ResultMemory(long most) {
        this.most = most;
        COLLECTED.put(id, this);
    }

    /** The memory of the result that is collected under this name; null in another process. */
    public static ResultMemory of(String id) {
        return COLLECTED.get(id);
    }

    public String id() {
        return id;
    }

    /** Takes memory for a block that a task of this process has packed. */
    public void pack(long bytes) {
        change(COPIES * bytes);
    }

    /** Takes memory for the whole result, and gives back what its tasks took for copies. */
    public void keep(long bytes) {
        COLLECTED.remove(id);
        synchronized (ResultMemory.class) {
            change(bytes - taken);
        }
    }

    /** Why the result was refused; null when it was not. */
    public RuntimeException refusal() {
        synchronized (ResultMemory.class) {
            return refusal;
        }
    }

    /** Gives all memory back. Tasks that still run end with their next block. */
    @Override
    public void close() {
        COLLECTED.remove(id);
        synchronized (ResultMemory.class) {
            takenByAll -= taken;
            taken = 0;
            isClosed = true;
        }
    }

    private void change(long bytes) {
        synchronized (ResultMemory.class) {
            boolean fits = takenByAll + bytes <= most || taken + bytes <= SMALL;
            if (isClosed || !fits) {
                refusal = new ResultTooLargeException(most);
                throw refusal;
            }
            takenByAll += bytes;
            taken += bytes;
        }
    }
}
