package causeway.guard.writes;

import causeway.guard.facts.TableFacts;
import causeway.guard.plans.Plans;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.types.StringType;
import scala.Tuple2;
import scala.collection.Iterator;

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

    /** Adds the partition keys of {@code map} that have a static value. A key without a value is dynamic. */
    static void addStaticValues(scala.collection.Map<?, ?> map, Map<String, String> spec) {
        for (Iterator<? extends Tuple2<?, ?>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<?, ?> pair = each.next();
            Object value = Plans.unwrapped(pair._2());
            if (pair._1() instanceof String && value instanceof String) {
                spec.put((String) pair._1(), (String) value);
            }
        }
    }

    /** Returns the values of {@code spec} that are values of the table's partition columns. */
    static scala.collection.immutable.Map<String, String> partitionValues(
            CatalogTable table, Map<String, String> spec) {
        scala.collection.immutable.Map<String, String> values =
                scala.collection.immutable.Map$.MODULE$.empty();
        for (Map.Entry<String, String> each : spec.entrySet()) {
            if (table.partitionColumnNames().contains(each.getKey())) {
                values = values.$plus(new Tuple2<>(each.getKey(), each.getValue()));
            }
        }
        return values;
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

    /** Whether the table's parameters name a copy, or may stand for a partition with copies. */
    boolean mayHaveCopies() {
        return table != null && TableFacts.of(table).keySet().stream().anyMatch(
                key -> key.startsWith("causeway.copy.") || key.equals("causeway.facts"));
    }

    /** Returns the name of the target for messages. */
    String describe() {
        return table != null ? "table " + table.identifier().unquotedString() : "folder " + paths;
    }
}
