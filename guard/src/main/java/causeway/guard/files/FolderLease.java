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
 * A running write of the files of one folder, which no command has reported. It begins with the first
 * change of a file and ends five seconds after its last user: a call, a stream or a committer's job. A
 * lease that an SQL command of this process has used and that has no user ends with the command, since a
 * copy that its client makes next would not be fresh. The package {@code causeway.guard.writes} has the
 * theory.
 */
final class FolderLease {
    private static final Logger LOG = LoggerFactory.getLogger(FolderLease.class);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int MAX_LEASES = 500; // of one process; further ones end idle ones early
    private static final ConcurrentMap<String, FolderLease> ALL = new ConcurrentHashMap<>();

    static {
        RunningWrite.Timer.every(1, FolderLease::endIdle);
    }

    private final String key;
    private final Runnable atCommandEnd = () -> endIfIdle(0);
    private RunningWrite write; // null where the metastore is no view
    private volatile boolean begun; // begun, users and ended change under the lease's lock
    private volatile int users;
    private boolean ended;
    private volatile long lastUse = System.nanoTime();

    private FolderLease(String key) {
        this.key = key;
    }

    /**
     * Returns the lease of the folder {@code key} and adds a user to it, who calls {@link #release}. Begins
     * a new lease by the report of a write of {@code paths}. Throws IOException when the files must not be
     * written.
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

    /** Adds a user, and begins the lease for the first one. Returns false if the lease has ended. */
    private synchronized boolean use(List<String> paths, ServerStorage storage) throws IOException {
        if (ended) {
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

    /** Adds a user to a lease that has one. */
    synchronized void share() {
        users++;
    }

    /** Removes a user. */
    synchronized void release() {
        users--;
        lastUse = System.nanoTime();
    }

    /** Reports the write to the view. Returns null if the metastore is no view: then there are no copies. */
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

    /** Ends idle leases until a new one has room. Throws IOException if none is idle. */
    private static void makeRoom(List<String> paths) throws IOException {
        while (ALL.size() > MAX_LEASES) {
            Optional<FolderLease> oldest = ALL.values().stream().filter(FolderLease::isIdle)
                    .min(Comparator.comparingLong(each -> each.lastUse));
            if (!oldest.isPresent()) {
                throw new IOException("[CW354] The copies of what lies in folder " + paths.get(0)
                        + " cannot be ended before it is written: this process writes " + MAX_LEASES
                        + " other folders.");
            }
            oldest.get().endIfIdle(0);
        }
    }

    private static void endIdle() {
        LeaseHolders.releaseUnreachable();
        for (FolderLease each : new ArrayList<>(ALL.values())) {
            each.endIfIdle(IDLE_NANOS);
        }
    }

    /** Whether the lease has begun and has no user. May be called without the lock. */
    private boolean isIdle() {
        return begun && users == 0;
    }

    /** Ends the lease if it has had no user for {@code nanos}. Returns whether it did. */
    private boolean endIfIdle(long nanos) {
        if (!isIdle()) {
            return false;
        }
        synchronized (this) {
            if (ended || !isIdle() || System.nanoTime() - lastUse < nanos) {
                return false;
            }
            forget();
        }
        if (write != null) {
            write.end();
        }
        return true;
    }

    /** Removes the lease, so that the next use of the folder makes a new one. */
    private void forget() {
        ended = true;
        ALL.remove(key, this);
    }
}
