package causeway.guard.facts;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import scala.Option;
import scala.Tuple2;

/**
 * The {@code causeway.} parameters of a table, as they were when Spark read the table's location.
 *
 * <p>The metastore view hides them from SQL: it sends them as JSON in {@code viewOriginalText}, which
 * Spark keeps with the table and shows for views only. A metastore that is no view sends them as
 * parameters. metastore/view/fact_edits.py has the other side.
 */
public final class TableFacts {
    private static final String HIDDEN = "-- causeway ";
    private static final String RESERVED = "causeway.";
    private static final ObjectMapper JSON = new ObjectMapper();

    private TableFacts() {
    }

    /** Returns the parameters by their names. Throws FactsUnavailableException if they are unreadable. */
    public static Map<String, String> of(CatalogTable table) {
        return areHidden(table) ? hidden(table) : reserved(table.properties());
    }

    /** Whether a view has hidden the parameters of the table and of its partitions. */
    static boolean areHidden(CatalogTable table) {
        Option<String> text = table.viewOriginalText();
        return text.isDefined() && text.get().startsWith(HIDDEN);
    }

    /** Returns those of {@code parameters} that begin with {@code causeway.}. */
    static Map<String, String> reserved(scala.collection.Map<String, String> parameters) {
        Map<String, String> facts = new HashMap<>();
        for (scala.collection.Iterator<Tuple2<String, String>> each = parameters.iterator();
                each.hasNext(); ) {
            Tuple2<String, String> entry = each.next();
            if (entry._1.startsWith(RESERVED)) {
                facts.put(entry._1, entry._2);
            }
        }
        return facts;
    }

    private static Map<String, String> hidden(CatalogTable table) {
        Map<String, String> facts = new HashMap<>();
        try {
            JsonNode json = JSON.readTree(table.viewOriginalText().get().substring(HIDDEN.length()));
            for (Iterator<Map.Entry<String, JsonNode>> each = json.fields(); each.hasNext(); ) {
                Map.Entry<String, JsonNode> entry = each.next();
                facts.put(entry.getKey(), entry.getValue().asText());
            }
        } catch (IOException unreadable) {
            throw new FactsUnavailableException(
                    "table " + table.identifier().unquotedString(), unreadable);
        }
        return facts;
    }
}
