package causeway.guard.files;

import causeway.guard.storage.ServerStorage;
import causeway.guard.writes.MetastoreView;
import causeway.guard.writes.RunningWrite;
import causeway.guard.writes.StatementWrites;
import causeway.guard.writes.WriteReport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.security.AccessControlException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running write of the files of one folder. It begins with the first change of one of them and ends
 * when no call, no stream and no committer's job has used it for some seconds. A lease that an SQL
 * command of this process has used and nothing uses now ends with the command: a copy that is made
 * next would not be fresh.
 */
final class FolderLease {
    private static final Logger LOG = LoggerFactory.getLogger(FolderLease.class);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int MOST = 500; // of one process; idle ones end early for others
    private static final ConcurrentMap<String, FolderLease> ALL = new ConcurrentHashMap<>();

    static {
        RunningWrite.Timer.every(1, FolderLease::endIdle);
    }

    private final String key;
    private final Runnable atCommandEnd = () -> endIfIdle(0);
    private RunningWrite write; // null where the metastore is no view
    private volatile boolean begun; // this and the next two change under the lease's lock
    private volatile int users;
    private boolean over;
    private volatile long lastUse = System.nanoTime();

    private FolderLease(String key) {
        this.key = key;
    }

    /**
     * Returns the lease of the folder {@code key}, in use until {@link #release}. For a new lease the
     * view has put the marks of a write of {@code paths}. Throws IOException when the files must not
     * be written.
     */
    static FolderLease acquire(String key, List<String> paths, ServerStorage storage)
            throws IOException {
        while (true) {
            FolderLease lease = ALL.computeIfAbsent(key, FolderLease::new);
            if (lease.use(paths, storage)) {
                StatementWrites.onEnd(lease.atCommandEnd);
                return lease;
            }
        }
    }

    private synchronized boolean use(List<String> paths, ServerStorage storage) throws IOException {
        if (over) {
            return false;
        }
        if (!begun) {
            try {
                makeRoom(paths);
                write = begin(paths, storage);
                begun = true;
            } catch (IOException refused) {
                forget();
                throw refused;
            }
        }
        users++;
        return true;
    }

    /** Adds a user to a lease that is in use. */
    synchronized void share() {
        users++;
    }

    synchronized void release() {
        users--;
        lastUse = System.nanoTime();
    }

    /** Reports the write to the view; null where the metastore is no view, which has no copies. */
    private RunningWrite begin(List<String> paths, ServerStorage storage) throws IOException {
        LOG.debug("files that no command names are written: {}", paths);
        WriteReport report = new WriteReport(
                paths, RunningWrite.newId(), RunningWrite.writer(storage.cluster()));
        try {
            return RunningWrite.begin(StatementWrites.view(storage), report, this, null);
        } catch (MetastoreView.Refused refused) {
            throw new AccessControlException(refused.getMessage());
        } catch (MetastoreView.NotKnown none) {
            return null;
        } catch (IOException error) {
            throw new IOException("[CW354] The copies of what lies in folder " + paths.get(0)
                    + " cannot be ended before it is written: " + error + ".", error);
        }
    }

    private static void makeRoom(List<String> paths) throws IOException {
        while (ALL.size() > MOST) {
            Optional<FolderLease> oldest = ALL.values().stream().filter(FolderLease::isIdle)
                    .min(Comparator.comparingLong(each -> each.lastUse));
            if (!oldest.isPresent()) {
                throw new IOException("[CW354] The copies of what lies in folder " + paths.get(0)
                        + " cannot be ended before it is written: this process writes " + MOST
                        + " other folders.");
            }
            oldest.get().endIfIdle(0);
        }
    }

    private static void endIdle() {
        LeaseHolders.releaseForgotten();
        for (FolderLease each : new ArrayList<>(ALL.values())) {
            each.endIfIdle(IDLE_NANOS);
        }
    }

    /** Called without the lock, which a lease that has begun holds only for moments. */
    private boolean isIdle() {
        return begun && users == 0;
    }

    /** Ends the lease and returns true if it was not used for so long. */
    private boolean endIfIdle(long nanos) {
        if (!isIdle()) {
            return false;
        }
        synchronized (this) {
            if (over || !isIdle() || System.nanoTime() - lastUse < nanos) {
                return false;
            }
            forget();
        }
        if (write != null) {
            write.end();
        }
        return true;
    }

    private void forget() {
        over = true;
        ALL.remove(key, this);
    }
}
