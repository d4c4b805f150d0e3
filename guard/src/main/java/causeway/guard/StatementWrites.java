package causeway.guard;

import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import scala.Option;

/**
 * Which files are written by a command of SQL, whose marks cover them. The driver knows its running
 * commands; an executor in a process of its own asks the driver.
 */
final class StatementWrites {
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
    private static volatile String metastore;

    private StatementWrites() {}

    /** Called in an executor, before it runs tasks. */
    static void connect(PluginContext context) {
        driver = context;
    }

    /** Whether a command of SQL is changing {@code path} for this thread, and has reported that. */
    static boolean cover(Object system, Path path) throws IOException {
        String[] executions = executions();
        if (executions[0] == null) {
            return false;
        }
        if (isDriver()) {
            return cover(executions, StorageCheck.location(system, path));
        }
        if (driver == null) {
            return false;
        }
        Path name = StorageCheck.fullName(system, path);
        Path folder = name.getParent();
        boolean isPartition = name.getName().indexOf('=') >= 0;
        return (folder != null && !isPartition && isCovered(executions, folder))
                || isCovered(executions, name);
    }

    private static boolean cover(String[] executions, Location file) {
        for (String execution : executions) {
            QueryExecution query = execution == null || execution.isEmpty()
                    ? null : SQLExecution.getQueryExecution(Long.parseLong(execution));
            if (query != null && CopyInvalidation.covers(query.analyzed(), file)) {
                return true;
            }
        }
        return false;
    }

    /** The driver's answer, which holds for a whole stage: its command does not end before its tasks. */
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

    /** The view to which this process reports writes. */
    static MetastoreView view(ServerStorage storage) throws IOException {
        if (isDriver()) {
            return MetastoreView.shared(storage.hadoop());
        }
        if (metastore == null && driver != null) {
            metastore = (String) question(new String[0]);
        }
        String uris = metastore != null ? metastore : storage.hadoop().get(MetastoreView.METASTORE, "");
        if (uris.isEmpty() && driver == null) {
            throw new IOException("this executor does not know the metastore: "
                    + "set spark.plugins to causeway.guard.WritePlugin");
        }
        return MetastoreView.at(uris);
    }

    /**
     * The driver's answer to an executor: whether a command covers a path, which is followed by the
     * ids of the command's executions; without a question the driver's hive.metastore.uris.
     */
    static Object answer(Object question) {
        String[] words = (String[]) question;
        if (words.length > 0) {
            return cover(new String[] {words[1], words[2]}, Location.of(words[0]));
        }
        ServerStorage storage = ServerStorage.current();
        return storage == null ? "" : storage.hadoop().get(MetastoreView.METASTORE, "");
    }

    private static Object question(String[] words) throws IOException {
        try {
            return driver.ask(words);
        } catch (Exception error) {
            throw new IOException("[CW354] The driver does not say which tables are written: "
                    + error + ".", error);
        }
    }

    private static boolean isDriver() {
        SparkEnv running = SparkEnv.get();
        return running == null || running.executorId().equals(DRIVER);
    }

    /** The ids of the execution that this thread works for, and of the outermost one, or nulls. */
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
