package causeway.guard.writes;

import causeway.guard.claim.Claim;
import causeway.guard.claim.Claims;
import causeway.guard.plans.Plans;
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
 * Reports the writes of SQL commands to the metastore view: the tables and folders that a plan writes,
 * before the plan runs and when it has ended. The package's description has the theory.
 *
 * <p>The end of a statement is reported before its client has the result, when Spark plans the fetch
 * of the command's result ({@link AfterCommand}). Writers without a result (DataFrame writers, each batch
 * of a stream) end some milliseconds later, with the event of Spark's listener ({@link ExecutionEnds}).
 */
public final class CopyInvalidation extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private static final TreeNodeTag<RunningCommand> COMMAND = new TreeNodeTag<>("causeway.running");

    private final SparkSession session;
    private final String cluster;

    public CopyInvalidation(SparkSession session) {
        this.session = session;
        cluster = session.sparkContext().getConf().get(ServerStorage.CLUSTER, "");
    }

    /**
     * A command and its writes, as a tag of the command's node. Spark checks a copy of a plan with CTEs and
     * runs the plan itself; both nodes have this object as their tag.
     */
    private static final class RunningCommand {
        private final List<RunningWrite> writes = new ArrayList<>();
        private final Set<Runnable> endActions = new HashSet<>();
        private final long thread = Thread.currentThread().getId();

        synchronized void add(RunningWrite write) {
            writes.add(write);
        }

        synchronized void onEnd(Runnable action) {
            endActions.add(action);
        }

        synchronized boolean covers(Location file) {
            return writes.stream().anyMatch(write -> write.covers(file));
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
                endActions.forEach(Runnable::run);
                endActions.clear();
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

    /** Tags every command: one that is not known as a writer may write files too, such as a table's log. */
    private static void tagCommands(LogicalPlan plan) {
        boolean mayWrite = plan instanceof Command || WriteTargets.isWriter(plan);
        if (mayWrite && plan.getTagValue(COMMAND).isEmpty()) {
            plan.setTagValue(COMMAND, new RunningCommand());
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            tagCommands(each.next());
        }
    }

    /** For SparkSessionExtensions.injectCheckRule: before a plan runs. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (!cluster.isEmpty()) {
            tagCommands(plan); // commands that a rule has put in since BeforeCheck
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

    /** For SparkSessionExtensions.injectPreCBORule: the command has run, and Spark plans its result. */
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
     * Receives the end of each SQL execution, of any session. It is no QueryExecutionListener, since Spark
     * does not call those for the batches of streams.
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

    /** Whether a running write of a command in the plan may change the file. */
    static boolean covers(LogicalPlan plan, Location file) {
        return commandsOf(plan).stream().anyMatch(command -> command.covers(file));
    }

    /**
     * Runs {@code action} when the outermost command in the plan has ended without a failure. Returns false
     * if the plan has no command.
     */
    static boolean onEnd(LogicalPlan plan, Runnable action) {
        List<RunningCommand> commands = commandsOf(plan);
        if (!commands.isEmpty()) {
            commands.get(0).onEnd(action);
        }
        return !commands.isEmpty();
    }

    private static void ended(LogicalPlan plan, boolean failed) {
        commandsOf(plan).forEach(command -> command.end(failed));
    }

    /** Returns the commands in the plan, the outermost first. */
    private static List<RunningCommand> commandsOf(LogicalPlan plan) {
        List<RunningCommand> commands = new ArrayList<>();
        addCommands(plan, commands);
        return commands;
    }

    private static void addCommands(LogicalPlan plan, List<RunningCommand> commands) {
        Option<RunningCommand> command = plan.getTagValue(COMMAND);
        if (command.isDefined()) {
            commands.add(command.get());
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            addCommands(each.next(), commands);
        }
    }

    /** Returns the ids of the marks that the proxy has put for this statement; none without a claim. */
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
                RunningCommand command = commandOf(write.node);
                RunningWrite begun = RunningWrite.begin(view, report, command, batchOf(write.node));
                command.add(begun);
                addToOuter(StatementWrites.currentPlan(), begun);
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
     * Spark plans no fetch for the inner command, so its end would be reported by the listener alone, and
     * the table would still be marked for some moments after the client has the result.
     *
     * <p>The write of another thread may outlive the command, so it is not added.
     */
    private static void addToOuter(LogicalPlan outer, RunningWrite write) {
        List<RunningCommand> commands = outer == null ? Collections.emptyList() : commandsOf(outer);
        for (RunningCommand command : commands) {
            if (command.thread == Thread.currentThread().getId()) {
                command.add(write);
            }
        }
    }

    private static RunningCommand commandOf(LogicalPlan node) {
        Option<RunningCommand> known = node.getTagValue(COMMAND);
        if (known.isDefined()) {
            return known.get();
        }
        RunningCommand command = new RunningCommand();
        node.setTagValue(COMMAND, command);
        return command;
    }

    /** Returns the id of a stream's batch, which Spark analyses more than once; null for other plans. */
    private static String batchOf(LogicalPlan node) {
        Object batch = Plans.unwrapped(Plans.call(node, "batchId"));
        return batch == null ? null : Plans.call(node, "queryId") + "/" + batch;
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

    /** Whether Spark analyses the plan for an EXPLAIN. */
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
