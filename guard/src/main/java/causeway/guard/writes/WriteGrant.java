package causeway.guard.writes;

import causeway.guard.storage.Location;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.TaskContext;
import scala.Option;

/**
 * Folders in another cluster's file system that one statement may write, because this cluster is the
 * primary of the table or partition in them.
 *
 * <p>They are a local property of the statement's thread, which Spark passes to its tasks. Each
 * statement that writes a table replaces the folders of the thread's previous statement.
 */
public final class WriteGrant {
    private static final String PROPERTY = "causeway.granted.folders";

    private WriteGrant() {}

    static void replace(SparkContext spark, Set<String> folders) {
        spark.setLocalProperty(PROPERTY, folders.isEmpty() ? null : String.join("\n", folders));
    }

    /** Whether the statement of this thread or task may write {@code location}. */
    public static boolean covers(Location location) {
        String granted = property();
        if (granted != null) {
            for (String folder : granted.split("\n")) {
                if (location.isInside(Location.of(folder))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static String property() {
        TaskContext task = TaskContext.get();
        if (task != null) {
            return task.getLocalProperty(PROPERTY);
        }
        Option<SparkContext> spark = SparkContext$.MODULE$.getActive();
        return spark.isDefined() ? spark.get().getLocalProperty(PROPERTY) : null;
    }
}
