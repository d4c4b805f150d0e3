package causeway.guard;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;

/** What one call of {@code causeway_write} says. Without an id the view only ends copies. */
final class WriteReport {
    final String database;
    final String table; // null: the write names paths alone
    final Map<String, String> spec;
    final Collection<String> paths;
    final Collection<String> marks;
    final String id;
    final String by;
    final boolean ended;

    /** {@code id} and {@code by} are null for a report that is followed by no other. */
    WriteReport(WriteTarget target, Collection<String> paths, Collection<String> marks, String id,
            String by) {
        this(target.isNamed() ? target.table.database() : null,
                target.isNamed() ? target.table.identifier().table() : null,
                target.spec, paths, marks, id, by, false);
    }

    private WriteReport(String database, String table, Map<String, String> spec,
            Collection<String> paths, Collection<String> marks, String id, String by, boolean ended) {
        this.database = database;
        this.table = table;
        this.spec = spec;
        this.paths = paths;
        this.marks = marks;
        this.id = id;
        this.by = by;
        this.ended = ended;
    }

    /** Whether both name the same table and paths. */
    boolean isSame(WriteReport other) {
        return Objects.equals(database, other.database) && Objects.equals(table, other.table)
                && spec.equals(other.spec) && paths.equals(other.paths);
    }

    WriteReport atEnd() {
        return new WriteReport(database, table, spec, paths, marks, id, by, true);
    }
}
