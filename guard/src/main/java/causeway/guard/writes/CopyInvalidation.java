package causeway.guard.writes;

import causeway.guard.claim.Claim;
import causeway.guard.claim.Claims;
import causeway.guard.storage.Location;
import causeway.guard.storage.ServerStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Reports to the metastore view which tables and folders a plan writes, before the plan runs and when
 * it has ended. In between no copy of them is fresh. The view knows which objects own the folders.
 *
 * <p>The end of a statement is reported before its client gets the result, when Spark plans the fetch
 * of the command's result. Spark's listener reports the end of writers without a result (DataFrame
 * writers, each batch of a stream) soon afterwards.
 */
public final class CopyInvalidation extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private static final TreeNodeTag<Running> RUNNING = new TreeNodeTag<>("causeway.running");

    private final SparkSession session;
    private final String cluster;

    public CopyInvalidation(SparkSession session) {
        this.session = session;
        cluster = session.sparkContext().getConf().get(ServerStorage.CLUSTER, "");
    }

    /**
     * The writes of a command. Spark checks a copy of a plan with CTEs and runs the plan itself; both
     * have the same object as their tag.
     */
    private static final class Running {
        private final List<RunningWrite> writes = new ArrayList<>();
        private final Set<Runnable> ends = new HashSet<>();
        private final long thread = Thread.currentThread().getId();

        synchronized void add(RunningWrite write) {
            writes.add(write);
        }

        synchronized void onEnd(Runnable end) {
            ends.add(end);
        }

        synchronized boolean covers(Location file) {
            return writes.stream().anyMatch(each -> each.covers(file));
        }

        synchronized void end(boolean failed) {
            for (RunningWrite write : writes) {
                if (failed) {
                    write.endSoon();
                } else {
                    write.end();
                }
            }
            if (!failed) {
                ends.forEach(Runnable::run);
                ends.clear();
            }
        }
    }

    /** For SparkSessionExtensions.injectPostHocResolutionRule: before a plan is checked. */
    public static final class BeforeCheck extends Rule<LogicalPlan> {
        public BeforeCheck(SparkSession session) {}

        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            tagCommands(plan);
            return plan;
        }
    }

    /** A command that no rule knows as a writer may write files, too, such as a table's log. */
    private static void tagCommands(LogicalPlan plan) {
        boolean mayWrite = plan instanceof Command || WriteTargets.isWriter(plan);
        if (mayWrite && plan.getTagValue(RUNNING).isEmpty()) {
            plan.setTagValue(RUNNING, new Running());
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            tagCommands(each.next());
        }
    }

    /** For SparkSessionExtensions.injectCheckRule: before a plan runs. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (!cluster.isEmpty()) {
            tagCommands(plan); // commands that were replaced since then
            List<WriteTargets.Write> writes = WriteTargets.of(plan, session);
            if (!writes.isEmpty()) {
                ExecutionEnds.listenTo(session.sparkContext());
            }
            Collection<String> marks = writes.isEmpty() ? Collections.emptyList() : ownMarks();
            for (WriteTargets.Write write : writes) {
                begin(write, marks);
            }
        }
        return BoxedUnit.UNIT;
    }

    /** For SparkSessionExtensions.injectPreCBORule: a command has run, its result is planned. */
    public static final class AfterCommand extends Rule<LogicalPlan> {
        public AfterCommand(SparkSession session) {}

        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            if (plan instanceof CommandResult) {
                ended(((CommandResult) plan).commandLogicalPlan(), false);
            }
            return plan;
        }
    }

    /**
     * The end of everything that Spark runs as SQL, in any session. Not a QueryExecutionListener:
     * Spark does not call it for the batches of streams.
     */
    private static final class ExecutionEnds extends SparkListener {
        private static final Set<SparkContext> LISTENED =
                Collections.newSetFromMap(new WeakHashMap<>());

        static void listenTo(SparkContext spark) {
            synchronized (LISTENED) {
                if (LISTENED.add(spark)) {
                    spark.addSparkListener(new ExecutionEnds());
                }
            }
        }

        @Override
        public void onOtherEvent(SparkListenerEvent event) {
            if (event instanceof SparkListenerSQLExecutionEnd) {
                SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
                if (end.qe() != null) {
                    boolean failed = end.executionFailure().isDefined();
                    ended(end.qe().analyzed(), failed);
                }
            }
        }
    }

    /** Whether a running write of the plan, which Spark executes, may change the file. */
    static boolean covers(LogicalPlan plan, Location file) {
        return commandsOf(plan).stream().anyMatch(each -> each.covers(file));
    }

    /**
     * Runs {@code end} when the command {@code plan} has ended without a failure. Returns false if the
     * plan has no command.
     */
    static boolean onEnd(LogicalPlan plan, Runnable end) {
        List<Running> commands = commandsOf(plan);
        if (!commands.isEmpty()) {
            commands.get(0).onEnd(end);
        }
        return !commands.isEmpty();
    }

    private static void ended(LogicalPlan plan, boolean failed) {
        commandsOf(plan).forEach(each -> each.end(failed));
    }

    /** Returns the writes of the commands in the plan, the outermost first. */
    private static List<Running> commandsOf(LogicalPlan plan) {
        List<Running> found = new ArrayList<>();
        addCommands(plan, found);
        return found;
    }

    private static void addCommands(LogicalPlan plan, List<Running> found) {
        Option<Running> running = plan.getTagValue(RUNNING);
        if (running.isDefined()) {
            found.add(running.get());
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            addCommands(each.next(), found);
        }
    }

    /** Returns the ids of the proxy's marks for this statement, {@code causeway.open.id}. */
    private Collection<String> ownMarks() {
        Claim claim = Claims.of(session);
        return claim == null ? Collections.emptyList() : claim.marks();
    }

    private void begin(WriteTargets.Write write, Collection<String> marks) {
        Configuration settings = session.sparkContext().hadoopConfiguration();
        List<String> paths = new ArrayList<>();
        for (String path : write.target.paths) {
            paths.add(qualified(path, settings));
        }
        if (isExplained()) {
            return;
        }
        boolean runs = isRunBySpark(write.node);
        WriteReport report = new WriteReport(write.target, paths, marks,
                runs ? RunningWrite.newId() : null, RunningWrite.writer(cluster));
        MetastoreView view = MetastoreView.shared(ServerStorage.current().views());
        try {
            if (runs) {
                Running running = running(write.node);
                RunningWrite begun = RunningWrite.begin(view, report, running, batchOf(write.node));
                running.add(begun);
                addToOuter(StatementWrites.outerPlan(), begun);
            } else {
                view.report(report);
            }
        } catch (MetastoreView.Refused refused) {
            throw new CopiesNotEndedException(refused.getMessage());
        } catch (MetastoreView.NotKnown none) {
            if (write.target.mayHaveCopies()) {
                throw new CopiesNotEndedException("[CW354] The copies of " + write.target.describe()
                        + " cannot be ended before it is written: the metastore of this server is not"
                        + " a metastore view, or one of an older version.");
            }
        } catch (IOException error) {
            throw new CopiesNotEndedException("[CW354] The copies of " + write.target.describe()
                    + " cannot be ended before it is written: " + error + ".");
        }
    }

    /**
     * Adds a write to the commands of {@code outer} that run it in this thread, as CREATE TABLE AS does.
     * Spark plans no fetch for the inner command, so its end would be reported by the listener alone:
     * for some moments after the client has the result the table would still be marked.
     *
     * <p>What another thread writes for a command may end after it, so it ends by itself.
     */
    private static void addToOuter(LogicalPlan outer, RunningWrite write) {
        for (Running each : outer == null ? Collections.<Running>emptyList() : commandsOf(outer)) {
            if (each.thread == Thread.currentThread().getId()) {
                each.add(write);
            }
        }
    }

    private static Running running(LogicalPlan node) {
        Option<Running> known = node.getTagValue(RUNNING);
        if (known.isDefined()) {
            return known.get();
        }
        Running running = new Running();
        node.setTagValue(RUNNING, running);
        return running;
    }

    /** Returns the name of a stream's batch, which Spark analyses more than once; null for other plans. */
    private static String batchOf(LogicalPlan node) {
        Object batch = WriteTargets.call(node, "batchId");
        return batch instanceof Option && ((Option<?>) batch).isDefined()
                ? WriteTargets.call(node, "queryId") + "/" + ((Option<?>) batch).get() : null;
    }

    /**
     * Whether Spark runs the plan now and reports its end. Each batch of a stream is a plan of its
     * own; the plan of the stream itself does not end.
     */
    private static boolean isRunBySpark(LogicalPlan node) {
        String name = node.getClass().getSimpleName();
        return !name.startsWith("WriteToStream")
                && !(name.startsWith("WriteToMicroBatch") && batchOf(node) == null);
    }

    /** Whether the plan is only shown. */
    private static boolean isExplained() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            if (frame.getClassName().endsWith(".ExplainCommand")) {
                return true;
            }
        }
        return false;
    }

    private static String qualified(String path, Configuration settings) {
        try {
            Path parsed = new Path(path);
            return parsed.getFileSystem(settings).makeQualified(parsed).toString();
        } catch (IOException | IllegalArgumentException unknown) {
            return path;
        }
    }
}
