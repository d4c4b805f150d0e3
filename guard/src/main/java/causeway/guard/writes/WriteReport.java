package causeway.guard.writes;

import causeway.guard.storage.Location;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;

/** The arguments of one call of {@code causeway_write}. Without an id the view only ends copies. */
public final class WriteReport {
    final String database;
    final String table; // null: the write names paths alone
    final Map<String, String> spec;
    final Collection<String> paths;
    final Collection<String> marks;
    final String id;
    final String by;
    final String application = application();
    final boolean ended;
    private final WriteTarget target; // null: files that no command names
    private final List<Location> folders = new ArrayList<>();

    /** {@code id} and {@code by} are null when no report of the end will follow. */
    WriteReport(WriteTarget target, Collection<String> paths, Collection<String> marks, String id,
            String by) {
        this(target, target.isNamed() ? target.table.database() : null,
                target.isNamed() ? target.table.identifier().table() : null,
                target.spec, paths, marks, id, by, false);
    }

    private WriteReport(WriteTarget target, String database, String table,
            Map<String, String> spec, Collection<String> paths, Collection<String> marks, String id,
            String by, boolean ended) {
        this.target = target;
        this.database = database;
        this.table = table;
        this.spec = spec;
        this.paths = paths;
        this.marks = marks;
        this.id = id;
        this.by = by;
        this.ended = ended;
        paths.forEach(path -> folders.add(Location.of(path)));
    }

    /** A write of files that no command names. */
    public WriteReport(Collection<String> paths, String id, String by) {
        this(null, null, null, Collections.emptyMap(), paths, Collections.emptyList(), id, by, false);
    }

    /** Returns the id of this Spark in its cluster; empty if it is not known. */
    private static String application() {
        SparkEnv running = SparkEnv.get();
        return running == null ? "" : running.conf().get("spark.app.id", "");
    }

    /** Whether the command of this report may write the file, and its marks cover that. */
    boolean covers(Location file) {
        return target != null && folders.stream().anyMatch(
                folder -> file.isInside(folder) && !isOtherPartition(file.namesBelow(folder)));
    }

    /** Whether a file with these folder names is in a partition that the view has not marked. */
    private boolean isOtherPartition(List<String> names) {
        for (String name : names) {
            int at = name.indexOf('=');
            String value = at < 0 ? null : target.textOf(name.substring(0, at));
            if (value != null && !value.equals(
                    ExternalCatalogUtils.unescapePathName(name.substring(at + 1)))) {
                return true;
            }
        }
        return false;
    }

    /** Whether both name the same table and paths. */
    boolean isSame(WriteReport other) {
        return Objects.equals(database, other.database) && Objects.equals(table, other.table)
                && spec.equals(other.spec) && paths.equals(other.paths);
    }

    WriteReport atEnd() {
        return new WriteReport(
                target, database, table, spec, paths, marks, id, by, true);
    }
}
