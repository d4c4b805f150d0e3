package causeway.guard.plans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.JavaConverters;

/** Finds tables, folders and sub-plans in Spark's plans. */
public final class Plans {
    private static final String GLOBAL_TEMP = "global_temp.";

    private Plans() {
    }

    /** Calls {@code each} with each plan directly below {@code plan}: its children and sub-queries. */
    public static void forEachBelow(LogicalPlan plan, Consumer<LogicalPlan> each) {
        for (Iterator<?> all = plan.children().iterator(); all.hasNext(); ) {
            each.accept((LogicalPlan) all.next());
        }
        for (Iterator<?> all = plan.subqueries().iterator(); all.hasNext(); ) {
            each.accept((LogicalPlan) all.next());
        }
    }

    /**
     * Calls {@code each} with the plan under WITH and with the queries of WITH that it refers to,
     * directly or through each other. The other queries read nothing: Spark analyses them, and its
     * optimizer drops them.
     */
    public static void forEachUsed(WithCTE plan, Consumer<LogicalPlan> each) {
        Set<Long> used = new HashSet<>();
        each.accept(plan.plan());
        addReferences(plan.plan(), used);
        List<CTERelationDef> waiting = new ArrayList<>();
        for (Iterator<CTERelationDef> all = plan.cteDefs().iterator(); all.hasNext(); ) {
            waiting.add(all.next());
        }
        for (boolean more = true; more; ) {
            more = false;
            for (CTERelationDef query : new ArrayList<>(waiting)) {
                if (used.contains(query.id())) {
                    waiting.remove(query);
                    each.accept(query);
                    addReferences(query, used);
                    more = true;
                }
            }
        }
    }

    private static void addReferences(LogicalPlan plan, Set<Long> ids) {
        if (plan instanceof CTERelationRef) {
            ids.add(((CTERelationRef) plan).cteId());
        }
        forEachBelow(plan, each -> addReferences(each, ids));
        forEachInside(plan, each -> addReferences(each, ids));
    }

    /** Calls {@code each} with each query that a command has as an argument and runs itself. */
    public static void forEachInside(LogicalPlan plan, Consumer<LogicalPlan> each) {
        for (Iterator<? extends QueryPlan<?>> all = plan.innerChildren().iterator(); all.hasNext(); ) {
            QueryPlan<?> inner = all.next();
            if (inner instanceof LogicalPlan) {
                each.accept((LogicalPlan) inner);
            }
        }
    }

    /** Returns the metastore's table of a relation; null if it has none. */
    public static CatalogTable table(LogicalPlan plan) {
        if (plan instanceof HiveTableRelation) {
            return ((HiveTableRelation) plan).tableMeta();
        }
        if (plan instanceof LogicalRelation) {
            Option<CatalogTable> table = ((LogicalRelation) plan).catalogTable();
            return table.isDefined() ? table.get() : null;
        }
        if (plan.children().isEmpty() && plan instanceof Product && !(plan instanceof Command)) {
            for (Object each : arguments((Product) plan)) { // another class, of a later version of Spark
                if (each instanceof CatalogTable && !isOfView((CatalogTable) each)) {
                    return (CatalogTable) each;
                }
            }
        }
        return null;
    }

    /** Returns the name of the table that a relation of the catalog interface reads; null for others. */
    public static String foreignName(LogicalPlan plan) {
        DataSourceV2Relation relation = V2Tables.relation(plan);
        return relation == null ? null : V2Tables.name(relation);
    }

    /** Returns the folders that a relation without a table reads; null if they are not known. */
    public static List<String> folders(LogicalRelation relation) {
        if (!(relation.relation() instanceof HadoopFsRelation)) {
            return null;
        }
        List<String> folders = new ArrayList<>();
        HadoopFsRelation files = (HadoopFsRelation) relation.relation();
        for (Iterator<?> each = files.location().rootPaths().iterator(); each.hasNext(); ) {
            folders.add(each.next().toString());
        }
        // An index of Spark's without a path has no files. Another index may have files without a path.
        return folders.isEmpty() && !(files.location() instanceof InMemoryFileIndex) ? null : folders;
    }

    /** Whether a relation without a table reads only the log of a Delta table, which has no rows. */
    public static boolean isLog(LogicalRelation relation) {
        List<String> folders = folders(relation);
        return folders != null && !folders.isEmpty()
                && folders.stream().allMatch(each -> each.contains("/_delta_log/"));
    }

    /** Returns the name of the first table at or below the plan, the target of a command; null if none. */
    public static String firstTable(LogicalPlan plan) {
        CatalogTable table = table(plan);
        if (table != null) {
            return name(table.identifier());
        }
        String foreign = foreignName(plan);
        for (Iterator<?> each = plan.children().iterator(); foreign == null && each.hasNext(); ) {
            foreign = firstTable((LogicalPlan) each.next());
        }
        return foreign;
    }

    /** Returns the parts of a temporary view's name in the form that the session's catalog takes. */
    public static scala.collection.immutable.Seq<String> temporaryParts(String name) {
        List<String> parts = name.startsWith(GLOBAL_TEMP)
                ? Arrays.asList("global_temp", name.substring(GLOBAL_TEMP.length()))
                : Arrays.asList(name);
        return JavaConverters.asScalaBuffer(parts).toList();
    }

    /** Whether the table describes a temporary view, which has no rows. Spark 4's DESCRIBE has such tables. */
    private static boolean isOfView(CatalogTable table) {
        return table.identifier().database().isEmpty()
                || name(table.identifier()).startsWith(GLOBAL_TEMP);
    }

    /** Returns the name, {@code db.table} or {@code table}, in lower case. */
    public static String name(TableIdentifier table) {
        String database = table.database().isDefined() ? table.database().get() + "." : "";
        return lower(database + table.table());
    }

    /** Returns the text of a name that is a string or, in Spark 4, a literal. */
    public static String text(Object name) {
        return String.valueOf(name instanceof Literal ? ((Literal) name).value() : name);
    }

    public static String lower(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    /** Returns the arguments of a case class, each {@link #unwrapped}. */
    public static List<Object> arguments(Product product) {
        List<Object> arguments = new ArrayList<>();
        for (int i = 0; i < product.productArity(); i++) {
            arguments.add(unwrapped(product.productElement(i)));
        }
        return arguments;
    }

    /** Returns the value of an Option, or null; other objects as they are. */
    public static Object unwrapped(Object value) {
        if (value instanceof Option) {
            return ((Option<?>) value).isDefined() ? ((Option<?>) value).get() : null;
        }
        return value;
    }

    /** Returns the result of a method without arguments; null if the class lacks it or it fails. */
    public static Object call(Object target, String method) {
        try {
            return target.getClass().getMethod(method).invoke(target);
        } catch (ReflectiveOperationException none) {
            return null;
        }
    }
}
