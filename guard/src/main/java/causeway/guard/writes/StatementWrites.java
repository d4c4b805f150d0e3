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
 * Finds the running SQL command for which a thread works, and whether the marks of that command cover a
 * file. The driver has the plans of its running commands. An executor in a process of its own calls the
 * driver ({@link causeway.guard.WritePlugin}), also for the view to which it reports writes.
 *
 * <p>Spark gives each thread that works for a command, and each task, two ids as local properties: that of
 * its execution and that of the outermost execution, which differ where a command runs another.
 */
public final class StatementWrites {
    private static final String EXECUTION = "spark.sql.execution.id";
    private static final String ROOT = "spark.sql.execution.root.id";
    private static final String DRIVER = "driver";
    private static final int MAX_REPLIES = 1_000;
    private static final Map<String, Boolean> REPLIES = Collections.synchronizedMap(
            new LinkedHashMap<String, Boolean>() {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> oldest) {
                    return size() > MAX_REPLIES;
                }
            });

    private static volatile PluginContext driver;
    private static ViewSettings views; // of the driver
    private static long viewsExpire; // in nanoseconds of the virtual machine

    private StatementWrites() {}

    /** Called in an executor, before it runs tasks. */
    public static void connect(PluginContext context) {
        driver = context;
    }

    /** Whether this thread works for an SQL command that has reported a write of {@code path}. */
    public static boolean covers(Object system, Path path) throws IOException {
        String[] executions = executions();
        if (executions[0] == null) {
            return false;
        }
        if (isDriver()) {
            return covers(executions, HadoopPaths.location(system, path));
        }
        if (driver == null) {
            return false;
        }
        // One call for a folder serves all its files, but not its partitions: a mark may cover some of them.
        Path name = HadoopPaths.fullName(system, path);
        Path folder = name.getParent();
        boolean isPartition = name.getName().indexOf('=') >= 0;
        return (folder != null && !isPartition && isCovered(executions, folder))
                || isCovered(executions, name);
    }

    /** Whether a command of these executions of the driver has reported a write of the file. */
    private static boolean covers(String[] executions, Location file) {
        for (String execution : executions) {
            LogicalPlan plan = plan(execution);
            if (plan != null && CopyInvalidation.covers(plan, file)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the plan of the execution for which this thread of the driver works; null for none. */
    static LogicalPlan currentPlan() {
        return isDriver() ? plan(executions()[0]) : null;
    }

    /**
     * Runs {@code action} when the outermost SQL command that this thread of the driver works for has
     * ended, before its client has the result. Does not run it after a failure, nor without a command.
     */
    public static void onEnd(Runnable action) {
        if (isDriver()) {
            String[] executions = executions();
            LogicalPlan outermost = plan(executions[1]);
            LogicalPlan own = plan(executions[0]);
            if ((outermost == null || !CopyInvalidation.onEnd(outermost, action)) && own != null) {
                CopyInvalidation.onEnd(own, action);
            }
        }
    }

    /**
     * Returns the plan of an execution; null if it has none yet. Spark 4 analyses a command within the
     * command's own execution, where a call of analyzed() would analyse it again, without end.
     */
    private static LogicalPlan plan(String execution) {
        QueryExecution query = execution == null || execution.isEmpty()
                ? null : SQLExecution.getQueryExecution(Long.parseLong(execution));
        boolean isAnalysed =
                query != null && query.tracker().phases().contains(QueryPlanningTracker.ANALYSIS());
        return isAnalysed ? query.analyzed() : null;
    }

    /** Calls the driver once for a path and stage: a command does not end before its tasks. */
    private static boolean isCovered(String[] executions, Path path) throws IOException {
        String[] request = {path.toString(), executions[0], executions[1]};
        TaskContext task = TaskContext.get();
        if (task == null) {
            return (Boolean) callDriver(request);
        }
        String key = task.stageId() + "\n" + task.stageAttemptNumber() + "\n" + path;
        Boolean known = REPLIES.get(key);
        if (known == null) {
            known = (Boolean) callDriver(request);
            REPLIES.put(key, known);
        }
        return known;
    }

    /** Returns the view to which this process reports writes. */
    public static MetastoreView view(ServerStorage storage) throws IOException {
        if (isDriver()) {
            return MetastoreView.shared(storage.views());
        }
        ViewSettings own = driver != null ? viewsOfDriver() : storage.views().withoutLogin();
        if (own.isEmpty() && driver == null) {
            throw new IOException("this executor does not know the metastore: "
                    + "set spark.plugins to causeway.guard.WritePlugin");
        }
        return MetastoreView.shared(own);
    }

    /**
     * Returns the driver's settings of views. They are read again each hour, since a token expires and a
     * truststore changes. If the driver does not reply, the last ones are used for another minute.
     */
    private static synchronized ViewSettings viewsOfDriver() throws IOException {
        if (views != null && System.nanoTime() - viewsExpire < 0) {
            return views;
        }
        try {
            ViewSettings current = ViewSettings.ofDriver((String[]) callDriver(new String[0]));
            if (views != null && !views.equals(current)) {
                MetastoreView.forget(views);
            }
            views = current;
            viewsExpire = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
        } catch (IOException error) {
            if (views == null) {
                throw error;
            }
            viewsExpire = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        }
        return views;
    }

    /**
     * Returns the driver's reply to a request of an executor: to a path and the ids of two executions,
     * whether their command covers the path; to an empty request, the views to which the driver reports,
     * in the form of ViewSettings.toExecutor.
     */
    public static Object reply(Object request) throws IOException {
        String[] fields = (String[]) request;
        if (fields.length > 0) {
            return covers(new String[] {fields[1], fields[2]}, Location.of(fields[0]));
        }
        ServerStorage storage = ServerStorage.current();
        return storage == null ? new String[] {""} : storage.views().toExecutor();
    }

    private static Object callDriver(String[] request) throws IOException {
        try {
            return driver.ask(request);
        } catch (Exception error) {
            throw new IOException("[CW354] The driver did not reply which tables are written: "
                    + error + ".", error);
        }
    }

    private static boolean isDriver() {
        SparkEnv running = SparkEnv.get();
        return running == null || running.executorId().equals(DRIVER);
    }

    /** Returns the ids of this thread's execution and of the outermost one; nulls for none. */
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
