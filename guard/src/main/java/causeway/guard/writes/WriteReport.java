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

/**
 * The arguments of one call of {@code causeway_write}. A report with an id puts the mark of that id, or
 * removes it with {@code ended}. A report without an id only ends the copies that are fresh now.
 */
public final class WriteReport {
    final String database;
    final String table; // null: the write has paths alone
    final Map<String, String> spec;
    final Collection<String> paths;
    final Collection<String> marks;
    final String id;
    final String by;
    final String application = application();
    final boolean ended;
    private final WriteTarget target; // null: files that no plan names
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

    /** A write of files that no plan names. */
    public WriteReport(Collection<String> paths, String id, String by) {
        this(null, null, null, Collections.emptyMap(), paths, Collections.emptyList(), id, by, false);
    }

    /** Returns the id of this Spark in its cluster; empty if it is not known. */
    private static String application() {
        SparkEnv running = SparkEnv.get();
        return running == null ? "" : running.conf().get("spark.app.id", "");
    }

    /** Whether the mark of this report covers a write of the file by the report's command. */
    boolean covers(Location file) {
        return target != null && folders.stream().anyMatch(
                folder -> file.isInside(folder) && !isOtherPartition(file.namesBelow(folder)));
    }

    /** Whether a file below folders of these names is in a partition that the mark does not cover. */
    private boolean isOtherPartition(List<String> names) {
        for (String name : names) {
            int equals = name.indexOf('=');
            String value = equals < 0 ? null : target.textOf(name.substring(0, equals));
            if (value != null && !value.equals(
                    ExternalCatalogUtils.unescapePathName(name.substring(equals + 1)))) {
                return true;
            }
        }
        return false;
    }

    /** Whether both have the same table, static values and paths. */
    boolean isSame(WriteReport other) {
        return Objects.equals(database, other.database) && Objects.equals(table, other.table)
                && spec.equals(other.spec) && paths.equals(other.paths);
    }

    /** Returns the report of the same write's end. */
    WriteReport atEnd() {
        return new WriteReport(
                target, database, table, spec, paths, marks, id, by, true);
    }
}
