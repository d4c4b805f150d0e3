package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.plans.Paths;
import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Seq;

/** The tables and folders that one command writes, found among its arguments by type. */
final class CommandTargets {
    /** The tables. */
    final List<String> names = new ArrayList<>();
    /** Those of the tables that the command describes. */
    final List<CatalogTable> tables = new ArrayList<>();
    final List<String> folders = new ArrayList<>();
    /** Specifications of partitions, and options. */
    final List<Map<String, String>> maps = new ArrayList<>();

    private final SparkSession session;
    private final Claim claim;
    private final Paths paths;

    CommandTargets(SparkSession session, Claim claim, Paths paths) {
        this.session = session;
        this.claim = claim;
        this.paths = paths;
    }

    boolean isEmpty() {
        return names.isEmpty() && folders.isEmpty();
    }

    /** Collects the targets of a command. Its reads are checked with the plans below it. */
    void collect(LogicalPlan command, String name, List<Object> arguments) {
        boolean first = true;
        names.addAll(V2Tables.namedByText(session, command));
        for (Object each : arguments) {
            if (each instanceof CatalogTable) {
                addTable((CatalogTable) each, name.startsWith("Create"));
            } else if (each instanceof TableIdentifier) {
                if (first || !name.equals("CreateTableLikeCommand")) { // its second table is only described
                    names.add(named((TableIdentifier) each));
                }
            } else if (each instanceof LogicalPlan) {
                addPlan(command, (LogicalPlan) each, first);
            } else if (each instanceof CatalogStorageFormat) {
                addStorage((CatalogStorageFormat) each);
            } else if (each instanceof Path) {
                folders.add(each.toString());
            } else if (each instanceof scala.collection.Map) {
                maps.add(texts((scala.collection.Map<?, ?>) each));
            } else if (each instanceof Seq) {
                addSpecs((Seq<?>) each);
            } else if (each instanceof Table || isNamed(each, "HoodieCatalogTable")) {
                addWrapped(each);
            }
            first = false;
        }
        if (name.equals("LoadDataCommand") && Boolean.FALSE.equals(arguments.get(2))) {
            folders.add((String) arguments.get(1));
        } else if (name.equals("AlterTableSetLocationCommand")) {
            folders.add((String) arguments.get(2));
        } else if (name.equals("AnalyzeTablesCommand")) {
            names.addAll(claim.tablesWritten());
        }
        if (isEmpty()) { // Delta's own command for a part of another
            Plans.forEachInside(command, this::addFolders);
        }
        if (!name.startsWith("Create")) { // an existing table is written in its folder
            folders.removeIf(each -> paths.isIn(each, locations()));
        }
        if (name.equals("SaveIntoDataSourceCommand")) {
            maps.forEach(each -> addFolder(ClaimCheck.pathOption(each)));
        }
    }

    private void addWrapped(Object table) {
        CatalogTable found = wrapped(table);
        if (found == null) {
            throw unknown("the table of " + table + " is not known");
        }
        addTable(found, false);
    }

    /** Returns the metastore's table that an object of Hudi or Delta wraps; null if it has none. */
    static CatalogTable wrapped(Object table) {
        for (String method : Arrays.asList("table", "catalogTable")) {
            try {
                Object found = table.getClass().getMethod(method).invoke(table);
                found = found instanceof Option && ((Option<?>) found).isDefined()
                        ? ((Option<?>) found).get() : found;
                if (found instanceof CatalogTable) {
                    return (CatalogTable) found;
                }
            } catch (ReflectiveOperationException other) {
                continue;
            }
        }
        return null;
    }

    private void addTable(CatalogTable table, boolean created) {
        names.add(Plans.name(table.identifier()));
        tables.add(table);
        if (created) {
            addStorage(table.storage());
        }
    }

    /** Returns the name with its database: by default that of the first target, or else the current one. */
    String named(TableIdentifier table) {
        if (table.database().isDefined()) {
            return Plans.name(table);
        }
        String database = names.isEmpty() ? session.sessionState().catalog().getCurrentDatabase()
                : names.get(0).substring(0, names.get(0).indexOf('.'));
        return Plans.lower(database + "." + table.table());
    }

    /** Adds the target in a plan among the arguments. A query below the command is read; any other plan,
     * and the first of several, is written. */
    private void addPlan(LogicalPlan command, LogicalPlan plan, boolean first) {
        boolean below = command.children().contains(plan) || command.innerChildren().contains(plan);
        if (!below || (first && !(command.children().size() == 1 && isQueryOf(command)))) {
            String target = Plans.firstTable(plan);
            target = target == null ? V2Tables.resolvedName(plan) : target;
            if (target != null) {
                names.add(target);
            }
        }
    }

    private void addFolders(LogicalPlan plan) {
        List<String> read = plan instanceof LogicalRelation
                ? Plans.folders((LogicalRelation) plan) : null;
        if (read != null) {
            folders.addAll(read);
        }
        Plans.forEachBelow(plan, this::addFolders);
    }

    private static boolean isQueryOf(LogicalPlan command) {
        String name = command.getClass().getSimpleName();
        return name.equals("SaveIntoDataSourceCommand") || name.endsWith("DirCommand");
    }

    private void addStorage(CatalogStorageFormat storage) {
        if (storage.locationUri().isDefined()) {
            folders.add(new Path(storage.locationUri().get()).toString());
        }
    }

    private void addFolder(String folder) {
        if (folder != null) {
            folders.add(folder);
        }
    }

    /** Partition specifications, alone or each with the partition's folder. */
    private void addSpecs(Seq<?> all) {
        for (Iterator<?> each = all.iterator(); each.hasNext(); ) {
            Object value = each.next();
            if (value instanceof Tuple2 && ((Tuple2<?, ?>) value)._1() instanceof scala.collection.Map) {
                Object folder = ((Tuple2<?, ?>) value)._2();
                if (folder instanceof Option && ((Option<?>) folder).isDefined()) {
                    folders.add(((Option<?>) folder).get().toString());
                }
                value = ((Tuple2<?, ?>) value)._1();
            }
            if (value instanceof scala.collection.Map) {
                maps.add(texts((scala.collection.Map<?, ?>) value));
            }
        }
    }

    /** Returns the folders of the tables. */
    List<String> locations() {
        List<String> found = new ArrayList<>();
        tables.forEach(each -> found.add(folderOf(each)));
        return found;
    }

    /** Returns the folder of a table, also of one that will be created. Spaces are not escaped. */
    private String folderOf(CatalogTable table) {
        Option<URI> location = table.storage().locationUri();
        URI folder = location.isDefined() ? location.get()
                : session.sessionState().catalog().defaultTablePath(table.identifier());
        return new Path(folder).toString();
    }

    /** Keys in lower case with their values; null for those without one. */
    private static Map<String, String> texts(scala.collection.Map<?, ?> map) {
        Map<String, String> found = new HashMap<>();
        for (Iterator<? extends Tuple2<?, ?>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<?, ?> pair = each.next();
            Object value = pair._2();
            if (value instanceof Option) {
                value = ((Option<?>) value).isDefined() ? ((Option<?>) value).get() : null;
            }
            found.put(Plans.lower(String.valueOf(pair._1())), value == null ? null : value.toString());
        }
        return found;
    }

    static ClaimException unknown(String what) {
        return new ClaimException(ClaimException.UNKNOWN_COMMAND, "Refused, since " + what + ".");
    }

    static boolean isNamed(Object value, String type) {
        return value != null && value.getClass().getSimpleName().replace("$", "").equals(type);
    }
}
