package causeway.guard.writes;

import causeway.guard.facts.TableFacts;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StringType;

/** The target of one command: a table of the metastore, or null, and every path that it may write. */
final class WriteTarget {
    final CatalogTable table;
    /** The partition keys that have a static value. */
    final Map<String, String> spec = new HashMap<>();
    final Set<String> paths = new LinkedHashSet<>();

    WriteTarget(CatalogTable table) {
        this.table = table;
        if (table != null && table.storage().locationUri().isDefined()) {
            paths.add(new Path(table.storage().locationUri().get()).toString());
        }
    }

    /** Whether the target is a table of the metastore. */
    boolean isNamed() {
        return table != null && table.identifier().database().isDefined();
    }

    /** Returns the static value of a partition key of type string; null for other keys. */
    String textOf(String key) {
        for (Map.Entry<String, String> each : spec.entrySet()) {
            if (each.getKey().equalsIgnoreCase(key)) {
                boolean isText = table != null && table.partitionSchema().exists(field ->
                        field.name().equalsIgnoreCase(key) && field.dataType() instanceof StringType);
                return isText ? each.getValue() : null;
            }
        }
        return null;
    }

    /** Whether the table, or perhaps one of its partitions, has copies by its parameters. */
    boolean mayHaveCopies() {
        return table != null && TableFacts.of(table).keySet().stream().anyMatch(
                key -> key.startsWith("causeway.copy.") || key.equals("causeway.facts"));
    }

    String describe() {
        return table != null ? "table " + table.identifier().unquotedString() : "folder " + paths;
    }
}
