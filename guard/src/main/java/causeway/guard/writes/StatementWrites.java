package causeway.guard.writes;

import causeway.guard.storage.HadoopPaths;
import causeway.guard.storage.Location;
import causeway.guard.storage.ServerStorage;
import causeway.guard.views.ViewSettings;
import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import scala.Option;

/**
 * Finds whether a running SQL command writes a file, so that the command's marks cover the file. The
 * driver knows its running commands; an executor in a process of its own asks the driver.
 */
public final class StatementWrites {
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String ROOT = "spark.sql.execution.root.id";
    private static final String DRIVER = "driver";
    private static final int REMEMBERED = 1_000;
    private static final Map<String, Boolean> ANSWERS = Collections.synchronizedMap(
            new LinkedHashMap<String, Boolean>() {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> oldest) {
                    return size() > REMEMBERED;
                }
            });

    private static volatile PluginContext driver;
    private static ViewSettings metastore;
    private static long due;

    private StatementWrites() {}

    /** Called in an executor, before it runs tasks. */
    public static void connect(PluginContext context) {
        driver = context;
    }

    /** Whether this thread works for an SQL command that has reported a write of {@code path}. */
    public static boolean cover(Object system, Path path) throws IOException {
        String[] executions = executions();
        if (executions[0] == null) {
            return false;
        }
        if (isDriver()) {
            return cover(executions, HadoopPaths.location(system, path));
        }
        if (driver == null) {
            return false;
        }
        Path name = HadoopPaths.fullName(system, path);
        Path folder = name.getParent();
        boolean isPartition = name.getName().indexOf('=') >= 0;
        return (folder != null && !isPartition && isCovered(executions, folder))
                || isCovered(executions, name);
    }

    private static boolean cover(String[] executions, Location file) {
        for (String execution : executions) {
            LogicalPlan plan = plan(execution);
            if (plan != null && CopyInvalidation.covers(plan, file)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the plan of the command that this thread of the driver runs; null for none. */
    static LogicalPlan outerPlan() {
        return isDriver() ? plan(executions()[0]) : null;
    }

    /**
     * Runs {@code end} when the outermost SQL command that this thread of the driver works for has ended,
     * before its client has the result. Nothing runs it after a failure, or where there is no command.
     */
    public static void onEnd(Runnable end) {
        if (isDriver()) {
            String[] executions = executions();
            LogicalPlan outermost = plan(executions[1]);
            LogicalPlan own = plan(executions[0]);
            if ((outermost == null || !CopyInvalidation.onEnd(outermost, end)) && own != null) {
                CopyInvalidation.onEnd(own, end);
            }
        }
    }

    /**
     * Returns the plan of an execution; null if it has none yet. Spark 4 analyses a command within its
     * own execution: to ask for the plan would analyse it once more, without end.
     */
    private static LogicalPlan plan(String execution) {
        QueryExecution query = execution == null || execution.isEmpty()
                ? null : SQLExecution.getQueryExecution(Long.parseLong(execution));
        boolean isAnalysed =
                query != null && query.tracker().phases().contains(QueryPlanningTracker.ANALYSIS());
        return isAnalysed ? query.analyzed() : null;
    }

    /** Asks the driver once a stage: a command does not end before its tasks. */
    private static boolean isCovered(String[] executions, Path path) throws IOException {
        String[] words = {path.toString(), executions[0], executions[1]};
        TaskContext task = TaskContext.get();
        if (task == null) {
            return (Boolean) question(words);
        }
        String key = task.stageId() + "\n" + task.stageAttemptNumber() + "\n" + path;
        Boolean known = ANSWERS.get(key);
        if (known == null) {
            known = (Boolean) question(words);
            ANSWERS.put(key, known);
        }
        return known;
    }

    /** Returns the view to which this process reports writes. */
    public static MetastoreView view(ServerStorage storage) throws IOException {
        if (isDriver()) {
            return MetastoreView.shared(storage.views());
        }
        ViewSettings views = driver != null ? viewsOfDriver() : storage.views().withoutLogin();
        if (views.isEmpty() && driver == null) {
            throw new IOException("this executor does not know the metastore: "
                    + "set spark.plugins to causeway.guard.WritePlugin");
        }
        return MetastoreView.shared(views);
    }

    /**
     * Returns the driver's views, which are asked for each hour: a token ends, a truststore changes. If
     * that fails, the last ones serve for another minute.
     */
    private static synchronized ViewSettings viewsOfDriver() throws IOException {
        if (metastore != null && System.nanoTime() - due < 0) {
            return metastore;
        }
        try {
            ViewSettings found = ViewSettings.ofDriver((String[]) question(new String[0]));
            if (metastore != null && !metastore.equals(found)) {
                MetastoreView.forget(metastore);
            }
            metastore = found;
            due = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
        } catch (IOException error) {
            if (metastore == null) {
                throw error;
            }
            due = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        }
        return metastore;
    }

    /**
     * Returns the driver's reply to an executor. A question of three words (a path and the ids of two
     * executions) gets whether their command covers the path; an empty one gets the views
     * that the driver reports to, as ViewSettings.toExecutor has them.
     */
    public static Object answer(Object question) throws IOException {
        String[] words = (String[]) question;
        if (words.length > 0) {
            return cover(new String[] {words[1], words[2]}, Location.of(words[0]));
        }
        ServerStorage storage = ServerStorage.current();
        return storage == null ? new String[] {""} : storage.views().toExecutor();
    }

    private static Object question(String[] words) throws IOException {
        try {
            return driver.ask(words);
        } catch (Exception error) {
            throw new IOException("[CW354] The driver did not reply which tables are written: "
                    + error + ".", error);
        }
    }

    private static boolean isDriver() {
        SparkEnv running = SparkEnv.get();
        return running == null || running.executorId().equals(DRIVER);
    }

    /** Returns the id of the execution that this thread works for and of the outermost one, or nulls. */
    private static String[] executions() {
        return new String[] {property(EXECUTION), property(ROOT)};
    }

    private static String property(String name) {
        TaskContext task = TaskContext.get();
        if (task != null) {
            return task.getLocalProperty(name);
        }
        Option<SparkContext> spark = SparkContext$.MODULE$.getActive();
        return spark.isDefined() ? spark.get().getLocalProperty(name) : null;
    }
}
