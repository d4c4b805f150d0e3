package causeway.guard.plans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Names the tables of Spark's catalog interface (DataSource V2), which Iceberg, Delta and others use. A
 * table of the session catalog is a table of the metastore, {@code db.table}. A table of another
 * catalog has the catalog's name before its own: no claim and no primary is about it.
 */
public final class V2Tables {
    private static final String SESSION = "spark_catalog";

    private V2Tables() {}

    /** Returns the relation of the catalog interface that is the plan or its scan; null for other plans. */
    public static DataSourceV2Relation relation(Object plan) {
        if (plan instanceof DataSourceV2ScanRelation) {
            return (DataSourceV2Relation) ((DataSourceV2ScanRelation) plan).relation();
        }
        return plan instanceof DataSourceV2Relation ? (DataSourceV2Relation) plan : null;
    }

    public static String name(DataSourceV2Relation relation) {
        if (relation.identifier().isEmpty()) {
            return relation.name();
        }
        CatalogPlugin catalog = relation.catalog().isDefined() ? relation.catalog().get() : null;
        return name(catalog, relation.identifier().get());
    }

    static String name(CatalogPlugin catalog, Identifier table) {
        List<String> parts = new ArrayList<>(Arrays.asList(table.namespace()));
        parts.add(table.name());
        if (catalog != null && !catalog.name().equals(SESSION)) {
            parts.add(0, catalog.name());
        }
        return Plans.lower(String.join(".", parts));
    }

    /** Returns the name in ResolvedTable, ResolvedIdentifier and similar plans; null for others. */
    public static String resolvedName(LogicalPlan plan) {
        CatalogPlugin catalog = null;
        Identifier table = null;
        for (Object each : Plans.arguments((Product) plan)) {
            if (each instanceof CatalogPlugin) {
                catalog = (CatalogPlugin) each;
            } else if (each instanceof Identifier) {
                table = (Identifier) each;
            }
        }
        return table == null ? null : name(catalog, table);
    }

    /** Returns the table in ResolvedTable and similar plans; null for others. */
    public static Table resolvedTable(LogicalPlan plan) {
        for (Object each : Plans.arguments((Product) plan)) {
            if (each instanceof Table) {
                return (Table) each;
            }
        }
        return null;
    }

    /** Returns the metastore's table {@code db.table}; null if there is none, and for names of other forms. */
    public static CatalogTable metadata(SparkSession session, String name) {
        String[] parts = name.split("\\.");
        return parts.length == 2
                ? metadata(session, new TableIdentifier(parts[1], Option.apply(parts[0]))) : null;
    }

    /** Returns the metastore's table of that name; null if there is none, or a temporary view has the name. */
    public static CatalogTable existing(SparkSession session, TableIdentifier name) {
        return session.sessionState().catalog().isTempView(name) ? null : metadata(session, name);
    }

    private static CatalogTable metadata(SparkSession session, TableIdentifier name) {
        SessionCatalog catalog = session.sessionState().catalog();
        try {
            return catalog.tableExists(name) ? catalog.getTableMetadata(name) : null;
        } catch (NoSuchDatabaseException | NoSuchTableException gone) {
            return null; // the command itself reports it
        }
    }

    /**
     * Returns the names of the tables that a command of an extension names by strings, as Iceberg's do:
     * the parts of its table's name, or the strings among a procedure's arguments that are names of tables.
     */
    public static List<String> namedByText(SparkSession session, LogicalPlan command) {
        List<String> names = new ArrayList<>();
        Object parts = Plans.call(command, "table");
        if (parts instanceof Seq && !((Seq<?>) parts).isEmpty() && ((Seq<?>) parts).head() instanceof String) {
            names.add(fullName(session, (Seq<?>) parts));
        } else if (command.getClass().getSimpleName().equals("Call")) {
            Object arguments = Plans.call(command, "args");
            if (arguments instanceof Seq) {
                for (Iterator<?> each = ((Seq<?>) arguments).iterator(); each.hasNext(); ) {
                    addNamed(session, each.next(), names);
                }
            }
        }
        return names;
    }

    private static void addNamed(SparkSession session, Object argument, List<String> names) {
        if (!(argument instanceof Expression) || !((Expression) argument).foldable()) {
            return;
        }
        Object value = ((Expression) argument).eval(null);
        try {
            if (value != null && !value.toString().isEmpty()) {
                String name = fullName(session, session.sessionState().sqlParser()
                        .parseMultipartIdentifier(value.toString()));
                if (metadata(session, name) != null) {
                    names.add(name);
                }
            }
        } catch (ParseException other) {
            return; // the string is no name
        }
    }

    /** Returns the full name of a table. Spark completes the first parts from the session. */
    private static String fullName(SparkSession session, Seq<?> given) {
        List<String> parts = new ArrayList<>();
        for (Iterator<?> each = given.iterator(); each.hasNext(); ) {
            parts.add(String.valueOf(each.next()));
        }
        String catalog = session.sessionState().catalogManager().currentCatalog().name();
        if (parts.size() == 1) {
            parts.addAll(0, Arrays.asList(
                    session.sessionState().catalogManager().currentNamespace()));
        }
        if (parts.size() > 2 && parts.get(0).equals(SESSION)) {
            parts.remove(0);
        } else if (parts.size() == 2 && !catalog.equals(SESSION)) {
            parts.add(0, catalog);
        }
        return Plans.lower(String.join(".", parts));
    }
}
