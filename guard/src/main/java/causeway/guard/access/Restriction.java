package causeway.guard.access;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/**
 * The part of one table that a statement's user sees by the operator's rules: the rows for which a
 * condition holds, and masks in the place of some columns. A denied column has an error's message in its
 * place.
 */
public final class Restriction {
    /** An SQL expression and the rule that it is part of. */
    static final class Expression {
        final String sql;
        final String rule;

        Expression(JsonNode json) {
            sql = json.path("sql").asText();
            rule = json.path("rule").asText();
        }
    }

    final Expression filter; // null: all rows
    final Map<String, Expression> masks = new HashMap<>();
    final Map<String, String> denied = new HashMap<>();
    final String user;

    private final Map<StructType, RuleExpressions> resolved = new HashMap<>();

    /** Reads one table's part of a claim. */
    public Restriction(JsonNode json, String user) {
        this.user = user;
        filter = json.has("filter") ? new Expression(json.get("filter")) : null;
        for (Iterator<Map.Entry<String, JsonNode>> each = json.path("masks").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            masks.put(entry.getKey(), new Expression(entry.getValue()));
        }
        for (Iterator<Map.Entry<String, JsonNode>> each = json.path("denied").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            denied.put(entry.getKey(), entry.getValue().asText());
        }
    }

    boolean changesColumns() {
        return !masks.isEmpty() || !denied.isEmpty();
    }

    boolean changes(String column) {
        return masks.containsKey(column) || denied.containsKey(column);
    }

    /** Returns the expressions that `keep` has stored for relations with these columns; null without. */
    RuleExpressions resolved(StructType columns) {
        return resolved.get(columns);
    }

    RuleExpressions keep(StructType columns, RuleExpressions expressions) {
        resolved.put(columns, expressions);
        return expressions;
    }
}
