package causeway.guard.claim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The part of a claim for one table: its partitions, and the ids by which its copy was fresh. A
 * partition is the list of its values in the order of the table's columns.
 */
public final class Selection {
    /** A table that is written may be read, in its primary. */
    public static final Selection WRITTEN = new Selection(JsonNodeFactory.instance.objectNode());

    /** Everything that this cluster may read now: a repeated statement has no decision. */
    public static final Selection READABLE =
            new Selection(JsonNodeFactory.instance.objectNode().put("write", "").put("facts", ""));

    /** The table's `causeway.write` and `causeway.facts`; null where no copy is read. */
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

    /** Whether the values are the partitions that may not be used. */
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
        Set<List<String>> found = new HashSet<>();
        for (JsonNode partition : json) {
            List<String> values = new ArrayList<>();
            partition.forEach(each -> values.add(each.asText()));
            found.add(values);
        }
        return found;
    }
}
