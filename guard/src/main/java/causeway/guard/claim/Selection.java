package causeway.guard.claim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The partitions of one table that a claim allows, and the ids by which the proxy found its copy fresh. A
 * partition is the list of its values in the order of the table's partition columns.
 */
public final class Selection {
    /** The selection for reads of a table that the claim lists as written alone: all partitions. */
    public static final Selection WRITTEN = new Selection(JsonNodeFactory.instance.objectNode());

    /** The partitions that this cluster may read now, for a repeated statement, which has no decision. */
    public static final Selection READABLE =
            new Selection(JsonNodeFactory.instance.objectNode().put("write", "").put("facts", ""));

    /** The table's `causeway.write` and `causeway.facts`; null if no copy is read. */
    public final String write;
    public final String facts;

    private final Set<List<String>> values; // null: every partition
    private final boolean except;

    Selection(JsonNode json) {
        except = json.has("but");
        values = except ? partitions(json.get("but")) : partitions(json.get("in"));
        write = json.hasNonNull("write") ? json.get("write").asText() : null;
        facts = json.hasNonNull("facts") ? json.get("facts").asText() : null;
    }

    public boolean isAll() {
        return values == null;
    }

    /** Whether the statement uses only the table's description. */
    public boolean isNone() {
        return values != null && !except && values.isEmpty();
    }

    /** Whether the selection lists the partitions that are excluded. */
    public boolean isExcept() {
        return except;
    }

    public boolean readsCopy() {
        return write != null;
    }

    public boolean contains(List<String> partition) {
        return values == null || values.contains(partition) != except;
    }

    private static Set<List<String>> partitions(JsonNode json) {
        if (json == null || json.isNull()) {
            return null;
        }
        Set<List<String>> partitions = new HashSet<>();
        for (JsonNode partition : json) {
            List<String> values = new ArrayList<>();
            partition.forEach(each -> values.add(each.asText()));
            partitions.add(values);
        }
        return partitions;
    }
}
