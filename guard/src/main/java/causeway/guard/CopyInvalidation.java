package causeway.guard;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.SparkSession;
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
 * Reports what a plan writes to the metastore view, before it runs and when it has ended: meanwhile
 * no copy of it is fresh. The view knows which objects own the folders.
 *
 * <p>The end of a statement is seen before its client hears of it, when Spark plans the fetch of the
 * command's result. Writers that have no result, as those of DataFrames and each batch of a stream, are
 * reported by Spark's listener soon after.
 */
final class CopyInvalidation extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private static final TreeNodeTag<List<RunningWrite>> RUNNING =
            new TreeNodeTag<>("causeway.running");

    private final SparkSession session;
    private final String cluster;

    CopyInvalidation(SparkSession session) {
        this.session = session;
        cluster = session.sparkContext().getConf().get(ServerStorage.CLUSTER, "");
    }

    /** For SparkSessionExtensions.injectCheckRule: before a plan runs. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (!cluster.isEmpty()) {
            List<WriteTargets.Write> writes = WriteTargets.of(plan, session);
            if (!writes.isEmpty()) {
                ExecutionEnds.hear(session.sparkContext());
            }
            Collection<String> marks = writes.isEmpty() ? Collections.emptyList() : ownMarks();
            for (WriteTargets.Write write : writes) {
                begin(write, marks);
            }
        }
        return BoxedUnit.UNIT;
    }

    /** For SparkSessionExtensions.injectPreCBORule: a command has run, its result is planned. */
    static final class AfterCommand extends Rule<LogicalPlan> {
        AfterCommand(SparkSession session) {}

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
     * it does not hear of the batches of streams.
     */
    private static final class ExecutionEnds extends SparkListener {
        private static final Set<SparkContext> HEARD =
                Collections.newSetFromMap(new WeakHashMap<>());

        static void hear(SparkContext spark) {
            synchronized (HEARD) {
                if (HEARD.add(spark)) {
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

    private static void ended(LogicalPlan plan, boolean failed) {
        Option<List<RunningWrite>> running = plan.getTagValue(RUNNING);
        if (running.isDefined()) {
            for (RunningWrite write : running.get()) {
                if (failed) {
                    write.endSoon();
                } else {
                    write.end();
                }
            }
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            ended(each.next(), failed);
        }
    }

    /** The ids of the running writes that the statement belongs to, {@code causeway.open.id}. */
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
        boolean runs = isRunBySpark(write.node);
        WriteReport report = new WriteReport(write.target, paths, marks,
                runs ? RunningWrite.newId() : null, RunningWrite.writer(cluster));
        MetastoreView view = MetastoreView.shared(settings);
        try {
            if (runs) {
                tag(write.node, RunningWrite.begin(view, report, write.node));
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

    private static void tag(LogicalPlan node, RunningWrite running) {
        Option<List<RunningWrite>> known = node.getTagValue(RUNNING);
        List<RunningWrite> all = known.isDefined() ? known.get() : new ArrayList<>();
        all.add(running);
        node.setTagValue(RUNNING, all);
    }

    /**
     * Whether Spark runs the plan now and says when it has ended. EXPLAIN only shows it, and of a
     * stream each batch is a plan of its own.
     */
    private static boolean isRunBySpark(LogicalPlan node) {
        if (node.getClass().getSimpleName().startsWith("WriteToStream")) {
            return false;
        }
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            if (frame.getClassName().endsWith(".ExplainCommand")) {
                return false;
            }
        }
        return true;
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
