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
    /** The names of all tables. */
    final List<String> names = new ArrayList<>();
    /** The metadata of those tables for which the command has it. */
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

    /** Collects the targets of a command. Its reads are among the plans below it, which are checked too. */
    void collect(LogicalPlan command, String name, List<Object> arguments) {
        boolean isFirst = true;
        names.addAll(V2Tables.namedByText(session, command));
        for (Object each : arguments) {
            if (each instanceof CatalogTable) {
                addTable((CatalogTable) each, name.startsWith("Create"));
            } else if (each instanceof TableIdentifier) {
                // CREATE TABLE LIKE only reads the description of its second table.
                if (isFirst || !name.equals("CreateTableLikeCommand")) {
                    names.add(nameOf((TableIdentifier) each));
                }
            } else if (each instanceof LogicalPlan) {
                addPlan(command, (LogicalPlan) each, isFirst);
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
            isFirst = false;
        }
        if (name.equals("LoadDataCommand") && Boolean.FALSE.equals(arguments.get(2))) {
            folders.add((String) arguments.get(1));
        } else if (name.equals("AlterTableSetLocationCommand")) {
            folders.add((String) arguments.get(2));
        } else if (name.equals("AnalyzeTablesCommand")) {
            names.addAll(claim.tablesWritten());
        }
        if (isEmpty()) { // a command that Delta makes for a part of another one
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
        CatalogTable metadata = wrapped(table);
        if (metadata == null) {
            throw ClaimException.unknownCommand("the table of " + table + " is not known");
        }
        addTable(metadata, false);
    }

    /** Returns the metastore's table that an object of Hudi or Delta wraps; null if it has none. */
    static CatalogTable wrapped(Object table) {
        for (String method : Arrays.asList("table", "catalogTable")) {
            Object found = Plans.unwrapped(Plans.call(table, method));
            if (found instanceof CatalogTable) {
                return (CatalogTable) found;
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
    String nameOf(TableIdentifier table) {
        if (table.database().isDefined()) {
            return Plans.name(table);
        }
        String database = names.isEmpty() ? session.sessionState().catalog().getCurrentDatabase()
                : names.get(0).substring(0, names.get(0).indexOf('.'));
        return Plans.lower(database + "." + table.table());
    }

    /**
     * Adds the target in a plan among the arguments. A query below the command is read. Any other plan is
     * written, and so is the first of several queries.
     */
    private void addPlan(LogicalPlan command, LogicalPlan plan, boolean isFirst) {
        boolean isBelow = command.children().contains(plan) || command.innerChildren().contains(plan);
        if (!isBelow || (isFirst && !(command.children().size() == 1 && isQueryOf(command)))) {
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

    /** Adds specifications of partitions, and the folder of a partition that has one. */
    private void addSpecs(Seq<?> specs) {
        for (Iterator<?> each = specs.iterator(); each.hasNext(); ) {
            Object value = each.next();
            if (value instanceof Tuple2 && ((Tuple2<?, ?>) value)._1() instanceof scala.collection.Map) {
                Object folder = ((Tuple2<?, ?>) value)._2();
                if (folder instanceof Option && ((Option<?>) folder).isDefined()) {
                    folders.add(((Option<?>) folder).get().toString());
                }
                value = ((Tuple2<?, ?>) value)._1(); // the specification
            }
            if (value instanceof scala.collection.Map) {
                maps.add(texts((scala.collection.Map<?, ?>) value));
            }
        }
    }

    /** Returns the folders of the tables. */
    List<String> locations() {
        List<String> locations = new ArrayList<>();
        tables.forEach(each -> locations.add(folderOf(each)));
        return locations;
    }

    /** Returns the folder of a table, or the default one of a table that will be created. */
    private String folderOf(CatalogTable table) {
        Option<URI> location = table.storage().locationUri();
        URI folder = location.isDefined() ? location.get()
                : session.sessionState().catalog().defaultTablePath(table.identifier());
        return new Path(folder).toString();
    }

    /** Returns a map's values by their keys in lower case; null for an Option without a value. */
    private static Map<String, String> texts(scala.collection.Map<?, ?> map) {
        Map<String, String> texts = new HashMap<>();
        for (Iterator<? extends Tuple2<?, ?>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<?, ?> pair = each.next();
            Object value = Plans.unwrapped(pair._2());
            texts.put(Plans.lower(String.valueOf(pair._1())), value == null ? null : value.toString());
        }
        return texts;
    }

    /** Whether the class of {@code value} has this simple name. */
    static boolean isNamed(Object value, String type) {
        return value != null && value.getClass().getSimpleName().replace("$", "").equals(type);
    }
}
