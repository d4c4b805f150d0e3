package causeway.guard.writes;

import causeway.guard.storage.Location;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A write of this process, from the report of its beginning to the report of its end. In between the
 * view keeps a mark in the tables that the write may change, so that no copy of them is read or
 * published as fresh. The package's description says who begins and ends writes.
 *
 * <p>The beginning is reported again every 20 seconds, for a view that was started later. The end is
 * reported until a view accepts it. A write also ends when its last owner is garbage, as after Spark drops
 * a plan without running it, and when the process stops in order.
 */
public final class RunningWrite {
    private static final Logger LOG = LoggerFactory.getLogger(RunningWrite.class);
    private static final int REPEAT_SECONDS = 20;
    private static final int MAX_PENDING = 1_000;
    private static final int AFTER_SPARK = 5; // Spark's own shutdown hook has a higher priority
    private static final Set<RunningWrite> ALL = ConcurrentHashMap.newKeySet();
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    private static final Set<Owner> OWNERS = ConcurrentHashMap.newKeySet();

    private final MetastoreView view;
    private final WriteReport report;
    private final String batch;
    private final AtomicInteger owners = new AtomicInteger();
    private volatile boolean ended;

    private RunningWrite(MetastoreView view, WriteReport report, String batch) {
        this.batch = batch;
        this.view = view;
        this.report = report;
    }

    /**
     * Reports the beginning and returns the write, which runs until {@link #end} or until {@code owner} is
     * garbage. {@code batch} is the id of a stream's batch, or null: all reports of one batch are one write.
     * Throws Refused, NotKnown, or IOException if no view accepted the report.
     */
    public static RunningWrite begin(MetastoreView view, WriteReport report, Object owner, String batch)
            throws IOException, MetastoreView.Refused, MetastoreView.NotKnown {
        if (batch != null) {
            for (RunningWrite known : ALL) {
                if (!known.ended && batch.equals(known.batch) && known.report.isSame(report)) {
                    known.keep(owner);
                    return known;
                }
            }
        }
        RunningWrite write = new RunningWrite(view, report, batch);
        Timer.start();
        try {
            view.report(report);
        } catch (IOException error) { // the view may have put the mark before the connection broke
            write.ended = true;
            if (ALL.size() < MAX_PENDING) {
                ALL.add(write);
            }
            throw error;
        } catch (MetastoreView.Refused | MetastoreView.NotKnown refused) {
            if (view.hasSeveralProcesses()) { // another of them may have put the mark
                write.ended = true;
                ALL.add(write);
            }
            throw refused;
        }
        ALL.add(write);
        write.keep(owner);
        return write;
    }

    /** Keeps the write running as long as {@code owner} is reachable. */
    private void keep(Object owner) {
        owners.incrementAndGet();
        OWNERS.add(new Owner(owner, this));
    }

    /** Whether the write runs and its command may write the file. */
    boolean covers(Location file) {
        return !ended && report.covers(file);
    }

    public static String newId() {
        return UUID.randomUUID().toString().replace("-", "").substring(0, 16);
    }

    /** Returns the name of this process as the writer of a mark, which `causeway table show` prints. */
    public static String writer(String cluster) {
        return "Spark of " + cluster + " past the proxy, process "
                + ManagementFactory.getRuntimeMXBean().getName();
    }

    /** Ends the write, which succeeded or failed. */
    public synchronized void end() {
        if (!ended) {
            ended = true;
            if (reportEnd()) {
                ALL.remove(this);
            }
        }
    }

    /** Ends a failed write five seconds later: a task of it may still be running. */
    void endSoon() {
        Timer.after(5, this::end);
    }

    /** Reports the beginning again; of a write that has ended, the end. */
    private synchronized void repeat() {
        if (ended) {
            if (reportEnd()) {
                ALL.remove(this);
            }
            return;
        }
        try {
            view.report(report);
        } catch (IOException | MetastoreView.Refused | MetastoreView.NotKnown error) {
            LOG.debug("a running write was not reported again: {}", error.toString());
        }
    }

    /** Reports the end. Returns whether nothing is left to report. */
    private boolean reportEnd() {
        try {
            view.report(report.atEnd());
            return true;
        } catch (IOException error) {
            LOG.warn("the end of a write is not reported yet, its mark stays: {}", error.toString());
            return false;
        } catch (MetastoreView.Refused | MetastoreView.NotKnown error) {
            LOG.warn("the end of a write is not reported, its mark may stay: {}", error.toString());
            return true;
        }
    }

    private static void endUnreachable() {
        for (Reference<?> each = UNREACHABLE.poll(); each != null; each = UNREACHABLE.poll()) {
            Owner owner = (Owner) each;
            OWNERS.remove(owner);
            if (owner.write.owners.decrementAndGet() == 0) {
                owner.write.end();
            }
        }
    }

    /** An owner of a write, which it does not keep from being garbage. */
    private static final class Owner extends WeakReference<Object> {
        final RunningWrite write;

        Owner(Object owner, RunningWrite write) {
            super(owner, UNREACHABLE);
            this.write = write;
        }
    }

    /** The thread of repeated reports and delayed ends: one daemon thread, from the first write on. */
    public static final class Timer {
        private static final ScheduledExecutorService SCHEDULE =
                Executors.newSingleThreadScheduledExecutor(task -> {
                    Thread thread = new Thread(task, "causeway running writes");
                    thread.setDaemon(true);
                    return thread;
                });

        static {
            SCHEDULE.scheduleWithFixedDelay(
                    Timer::repeatAll, REPEAT_SECONDS, REPEAT_SECONDS, TimeUnit.SECONDS);
            ShutdownHookManager.get().addShutdownHook(
                    () -> ALL.forEach(RunningWrite::end), AFTER_SPARK);
        }

        private Timer() {}

        /** Starts the thread: the first call initialises the class. */
        static void start() {}

        /** Runs {@code task} in the thread every {@code seconds} seconds. */
        public static void every(int seconds, Runnable task) {
            SCHEDULE.scheduleWithFixedDelay(() -> {
                try {
                    task.run();
                } catch (RuntimeException error) { // an exception would end the schedule
                    LOG.warn("running writes were not ended: {}", error.toString());
                }
            }, seconds, seconds, TimeUnit.SECONDS);
        }

        static void after(int seconds, Runnable task) {
            SCHEDULE.schedule(task, seconds, TimeUnit.SECONDS);
        }

        private static void repeatAll() {
            try {
                endUnreachable();
                ALL.forEach(RunningWrite::repeat);
            } catch (RuntimeException error) { // an exception would end the schedule
                LOG.warn("running writes were not reported again: {}", error.toString());
            }
        }
    }
}
