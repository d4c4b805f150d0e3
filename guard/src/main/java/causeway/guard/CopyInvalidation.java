package causeway.guard;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Ends the copies of what a plan writes, before it runs and once more when it has ended, so that a
 * copy that began in between is stale too. The metastore view knows which objects own the folders.
 *
 * <p>The end of a statement is seen before its client hears of it, when Spark plans the fetch of the
 * command's result. Writers that have no result, as those of DataFrames and streams, are reported by
 * Spark's listener soon after.
 */
final class CopyInvalidation extends AbstractFunction1<LogicalPlan, BoxedUnit>
        implements QueryExecutionListener {
    private static final Logger LOG = LoggerFactory.getLogger(CopyInvalidation.class);
    private static final String METASTORE = "hive.metastore.uris";
    private static final TreeNodeTag<Running> RUNNING = new TreeNodeTag<>("causeway.running");
    private static volatile MetastoreView shared;

    private final SparkSession session;
    private final boolean on;
    private final AtomicBoolean listening = new AtomicBoolean();

    CopyInvalidation(SparkSession session) {
        this.session = session;
        on = !session.sparkContext().getConf().get("spark.causeway.cluster", "").isEmpty();
    }

    /** A write whose end has to be reported, unless a mark of the proxy's covers it. */
    private static final class Running {
        final Collection<String> marks;
        private boolean ended;

        Running(Collection<String> marks) {
            this.marks = marks;
        }

        synchronized void end(Runnable report) {
            if (!ended && marks.isEmpty()) {
                report.run();
            }
            ended = true;
        }
    }

    /** For SparkSessionExtensions.injectCheckRule: before a plan runs. */
    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (on) {
            List<WriteTargets.Write> writes = WriteTargets.of(plan, session);
            if (!writes.isEmpty() && listening.compareAndSet(false, true)) {
                session.listenerManager().register(this);
            }
            for (WriteTargets.Write write : writes) {
                Running running = new Running(ownMarks());
                write.node.setTagValue(RUNNING, running);
                endCopies(write.target, running.marks);
            }
        }
        return BoxedUnit.UNIT;
    }

    /** For SparkSessionExtensions.injectPreCBORule: a command has run, its result is planned. */
    static final class AfterCommand extends Rule<LogicalPlan> {
        private final CopyInvalidation copies;

        AfterCommand(SparkSession session) {
            copies = new CopyInvalidation(session);
        }

        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            if (copies.on && plan instanceof CommandResult) {
                copies.ended(((CommandResult) plan).commandLogicalPlan());
            }
            return plan;
        }
    }

    @Override
    public void onSuccess(String name, QueryExecution execution, long nanoseconds) {
        ended(execution.analyzed());
    }

    @Override
    public void onFailure(String name, QueryExecution execution, Exception error) {
        ended(execution.analyzed());
    }

    private void ended(LogicalPlan plan) {
        try {
            for (WriteTargets.Write write : WriteTargets.of(plan, session)) {
                Option<Running> running = write.node.getTagValue(RUNNING);
                if (running.isDefined()) {
                    running.get().end(() -> endCopies(write.target, Collections.emptyList()));
                }
            }
        } catch (RuntimeException error) {
            LOG.warn("copies that began during a write may be taken for fresh: {}", error.toString());
        }
    }

    /** The ids of the running writes that the statement belongs to, {@code causeway.open.id}. */
    private Collection<String> ownMarks() {
        Claim claim = Claims.of(session);
        return claim == null ? Collections.emptyList() : claim.marks();
    }

    private void endCopies(WriteTarget target, Collection<String> marks) {
        Configuration settings = session.sparkContext().hadoopConfiguration();
        List<String> paths = new ArrayList<>();
        for (String path : target.paths) {
            paths.add(qualified(path, settings));
        }
        try {
            view(settings).write(target, paths, marks);
        } catch (MetastoreView.Refused refused) {
            throw new CopiesNotEndedException(refused.getMessage());
        } catch (MetastoreView.NotKnown none) {
            if (target.mayHaveCopies()) {
                throw new CopiesNotEndedException("[CW354] The copies of " + target.describe()
                        + " cannot be ended before it is written: the metastore of this server is not"
                        + " a metastore view, or one of an older version.");
            }
        } catch (IOException error) {
            throw new CopiesNotEndedException("[CW354] The copies of " + target.describe()
                    + " cannot be ended before it is written: " + error + ".");
        }
    }

    private static MetastoreView view(Configuration settings) {
        MetastoreView known = shared;
        if (known == null) {
            synchronized (CopyInvalidation.class) {
                if (shared == null) {
                    shared = new MetastoreView(settings.get(METASTORE, ""));
                }
                known = shared;
            }
        }
        return known;
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
