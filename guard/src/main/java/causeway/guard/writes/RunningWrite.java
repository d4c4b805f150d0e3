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
 * published as fresh.
 *
 * <p>The beginning is reported again every 20 seconds, for a view that was started later. The end is
 * reported until a view accepts it. A write also ends when Spark drops its plan without running it,
 * and when the process stops in order.
 */
public final class RunningWrite {
    private static final Logger LOG = LoggerFactory.getLogger(RunningWrite.class);
    private static final int REPEAT_SECONDS = 20;
    private static final int MOST_PENDING = 1_000;
    private static final int AFTER_SPARK = 5; // Spark's own shutdown hook has a higher priority
    private static final Set<RunningWrite> ALL = ConcurrentHashMap.newKeySet();
    private static final ReferenceQueue<Object> FORGOTTEN = new ReferenceQueue<>();
    private static final Set<Plan> PLANS = ConcurrentHashMap.newKeySet();

    private final MetastoreView view;
    private final WriteReport report;
    private final String batch;
    private final AtomicInteger plans = new AtomicInteger();
    private volatile boolean ended;

    private RunningWrite(MetastoreView view, WriteReport report, String batch) {
        this.batch = batch;
        this.view = view;
        this.report = report;
    }

    /**
     * Reports the beginning. {@code plan} lives as long as the plan that Spark runs. {@code batch} is
     * the name of a stream's batch, or null: a batch is one write however often it is reported.
     */
    public static RunningWrite begin(MetastoreView view, WriteReport report, Object plan, String batch)
            throws IOException, MetastoreView.Refused, MetastoreView.NotKnown {
        if (batch != null) {
            for (RunningWrite each : ALL) {
                if (!each.ended && batch.equals(each.batch) && each.report.isSame(report)) {
                    each.keep(plan);
                    return each;
                }
            }
        }
        RunningWrite write = new RunningWrite(view, report, batch);
        Timer.start();
        try {
            view.report(report);
        } catch (IOException error) { // the view may have put the mark before it was lost
            write.ended = true;
            if (ALL.size() < MOST_PENDING) {
                ALL.add(write);
            }
            throw error;
        } catch (MetastoreView.Refused | MetastoreView.NotKnown refused) {
            if (view.isSeveral()) { // another process of the view may have put the mark
                write.ended = true;
                ALL.add(write);
            }
            throw refused;
        }
        ALL.add(write);
        write.keep(plan);
        return write;
    }

    /** Keeps the write running as long as {@code plan} is in use. */
    private void keep(Object plan) {
        plans.incrementAndGet();
        PLANS.add(new Plan(plan, this));
    }

    /** Whether the write runs and may write the file. */
    boolean covers(Location file) {
        return !ended && report.covers(file);
    }

    public static String newId() {
        return UUID.randomUUID().toString().replace("-", "").substring(0, 16);
    }

    /** Returns the text that a mark has for its writer. */
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

    /** Ends a failed write some seconds later: a task of it may still be running. */
    void endSoon() {
        Timer.after(5, this::end);
    }

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

    private static void endForgotten() {
        for (Reference<?> each = FORGOTTEN.poll(); each != null; each = FORGOTTEN.poll()) {
            Plan plan = (Plan) each;
            PLANS.remove(plan);
            if (plan.write.plans.decrementAndGet() == 0) {
                plan.write.end();
            }
        }
    }

    private static final class Plan extends WeakReference<Object> {
        final RunningWrite write;

        Plan(Object plan, RunningWrite write) {
            super(plan, FORGOTTEN);
            this.write = write;
        }
    }

    /** One daemon thread, from the first write on. */
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

        static void start() {
            // The class is initialised now.
        }

        public static void every(int seconds, Runnable task) {
            SCHEDULE.scheduleWithFixedDelay(() -> {
                try {
                    task.run();
                } catch (RuntimeException error) { // else the schedule would end
                    LOG.warn("running writes were not ended: {}", error.toString());
                }
            }, seconds, seconds, TimeUnit.SECONDS);
        }

        static void after(int seconds, Runnable task) {
            SCHEDULE.schedule(task, seconds, TimeUnit.SECONDS);
        }

        private static void repeatAll() {
            try {
                endForgotten();
                ALL.forEach(RunningWrite::repeat);
            } catch (RuntimeException error) { // else the schedule would end
                LOG.warn("running writes were not reported again: {}", error.toString());
            }
        }
    }
}
