package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Selection;
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
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Compares one command with the claim of its statement. Its targets are found among its arguments by
 * type. A command without targets is refused, since its writes are not known.
 */
final class CommandCheck {
    private final SparkSession session;
    private final Claim claim;
    private final Paths paths;
    private final TableFolders tableFolders;

    private final List<String> targets = new ArrayList<>();
    private final List<CatalogTable> tables = new ArrayList<>();
    private final List<String> folders = new ArrayList<>();
    private final List<Map<String, String>> maps = new ArrayList<>();

    CommandCheck(SparkSession session, Claim claim, Paths paths) {
        this.session = session;
        this.claim = claim;
        this.paths = paths;
        tableFolders = new TableFolders(session, claim, paths);
    }

    void check(LogicalPlan command, String name) {
        List<Object> arguments = Plans.arguments((Product) command);
        if (isOfTemporaryView(name, arguments)) {
            return;
        }
        if (name.equals("CacheTableAsSelect")) {
            claim.alsoOpens(Plans.lower(Plans.text(arguments.get(0)))); // a view that it creates
        }
        if (isReading(name)) {
            if (claim.mode == Claim.Mode.RUN) {
                checkReading(arguments);
            }
            return;
        }
        if (claim.mode != Claim.Mode.RUN) {
            throw notWritten(name + " may write");
        }
        if (claim.isOnlyExplained()) {
            throw notWritten("the statement was taken for an EXPLAIN, but Spark runs " + name);
        }
        checkWriting(command, name, arguments);
    }

    private static boolean isReading(String name) {
        return Commands.isReading(name) || name.startsWith("Show") || name.startsWith("Describe");
    }

    /** Whether the command creates or changes a temporary view, which belongs to the session. */
    private boolean isOfTemporaryView(String name, List<Object> arguments) {
        if (name.equals("CreateTempViewUsing")) {
            return true; // it reads its folder as a relation, which is checked
        }
        if (name.equals("CreateViewCommand")) {
            return arguments.stream().noneMatch(each -> isNamed(each, "PersistedView"));
        }
        return !arguments.isEmpty() && arguments.get(0) instanceof TableIdentifier
                && session.sessionState().catalog().isTempView((TableIdentifier) arguments.get(0))
                && (claim.mode != Claim.Mode.RUN
                        || claim.opens(Plans.name((TableIdentifier) arguments.get(0))));
    }

    private static boolean isNamed(Object value, String type) {
        return value != null && value.getClass().getSimpleName().replace("$", "").equals(type);
    }

    private void checkReading(List<Object> arguments) {
        for (Object each : arguments) {
            if (each instanceof TableIdentifier) {
                if (!claim.opens(Plans.name((TableIdentifier) each))) {
                    ClaimCheck.read(named((TableIdentifier) each), claim);
                }
            } else if (each instanceof Table && wrapped(each) != null) {
                ClaimCheck.read(Plans.name(wrapped(each).identifier()), claim);
            }
        }
    }

    private void checkWriting(LogicalPlan command, String name, List<Object> arguments) {
        if (Commands.isOfDatabase(name)) {
            String database = database(arguments.get(0));
            if (!claim.writesDatabase(database)) {
                throw notWritten(name + " changes database " + database);
            }
            return;
        }
        collect(command, name, arguments);
        if (targets.isEmpty() && folders.isEmpty()) {
            throw unknown("what " + name + " writes is not known");
        }
        boolean keeps = name.startsWith("Create") && name.contains("Table")
                && keepsWhatIsThere(arguments);
        for (String target : targets) {
            if (claim.written(target) == null && keeps
                    && session.sessionState().catalog().tableExists(identifier(target))) {
                return; // IF NOT EXISTS: nothing is created
            }
            checkTarget(target, name);
        }
        for (String folder : folders) {
            if (!paths.isIn(folder, claim.pathsWritten()) && !paths.isIn(folder, claim.pathsRead())
                    && !tableFolders.hasWritten(folder)) {
                throw notWritten(name + " uses folder " + folder);
            }
        }
        for (CatalogTable table : tables) {
            claim.alsoWrites(folderOf(table));
        }
    }

    private static boolean keepsWhatIsThere(List<Object> arguments) {
        return arguments.contains(Boolean.TRUE) || arguments.contains(SaveMode.Ignore);
    }

    /** The name that a command has itself, or in its ResolvedNamespace. */
    private static String database(Object argument) {
        if (argument instanceof LogicalPlan) {
            for (Object each : Plans.arguments((Product) argument)) {
                if (each instanceof Seq && !((Seq<?>) each).isEmpty()) {
                    return String.valueOf(((Seq<?>) each).last());
                }
            }
        }
        return String.valueOf(argument);
    }

    /** Collects the targets of a command. Its reads are checked with the plans below it. */
    private void collect(LogicalPlan command, String name, List<Object> arguments) {
        boolean first = true;
        targets.addAll(V2Tables.namedByText(session, command));
        for (Object each : arguments) {
            if (each instanceof CatalogTable) {
                addTable((CatalogTable) each, name.startsWith("Create"));
            } else if (each instanceof TableIdentifier) {
                if (first || !name.equals("CreateTableLikeCommand")) { // its second table is only described
                    targets.add(named((TableIdentifier) each));
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
            targets.addAll(claim.tablesWritten());
        }
        if (targets.isEmpty() && folders.isEmpty()) { // Delta's own command for a part of another
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
    private static CatalogTable wrapped(Object table) {
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
        targets.add(Plans.name(table.identifier()));
        tables.add(table);
        if (created) {
            addStorage(table.storage());
        }
    }

    /** Returns the name with its database: by default that of the first target, or else the current one. */
    private String named(TableIdentifier table) {
        if (table.database().isDefined()) {
            return Plans.name(table);
        }
        String database = targets.isEmpty() ? session.sessionState().catalog().getCurrentDatabase()
                : targets.get(0).substring(0, targets.get(0).indexOf('.'));
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
                targets.add(target);
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

    private void checkTarget(String target, String name) {
        Selection claimed = claim.written(target);
        if (claimed == null && name.startsWith("Drop")) {
            if (!session.sessionState().catalog().tableExists(identifier(target))) {
                return; // nothing is dropped
            }
            if (claim.tablesWritten().isEmpty()) {
                throw ClaimCheck.changed(target); // it did not exist when the drop was decided
            }
        }
        if (claimed == null) {
            throw notWritten(name + " writes table " + target);
        }
        if (claimed.isAll()) {
            return;
        }
        List<String> columns = partitionColumns(target);
        boolean found = false;
        for (Map<String, String> each : maps) {
            if (columns.containsAll(each.keySet()) && !each.isEmpty()) {
                found = true;
                checkSpec(target, columns, each, claimed);
            }
        }
        if (!found) {
            throw notWritten(name + " may write any partition of table " + target);
        }
    }

    private void checkSpec(
            String target, List<String> columns, Map<String, String> spec, Selection claimed) {
        List<String> values = new ArrayList<>();
        columns.forEach(each -> values.add(spec.get(each)));
        if (values.contains(null) || !claimed.contains(values)) {
            throw notWritten("Spark writes partition " + spec + " of table " + target);
        }
    }

    private List<String> partitionColumns(String target) {
        for (CatalogTable table : tables) {
            if (Plans.name(table.identifier()).equals(target)) {
                return columns(table);
            }
        }
        try {
            return columns(session.sessionState().catalog().getTableMetadata(identifier(target)));
        } catch (NoSuchDatabaseException | NoSuchTableException gone) {
            return new ArrayList<>(); // no specification fits then
        }
    }

    static TableIdentifier identifier(String table) {
        int dot = table.indexOf('.');
        return new TableIdentifier(table.substring(dot + 1), Option.apply(table.substring(0, dot)));
    }

    private static List<String> columns(CatalogTable table) {
        List<String> names = new ArrayList<>();
        for (Iterator<String> each = table.partitionColumnNames().iterator(); each.hasNext(); ) {
            names.add(Plans.lower(each.next()));
        }
        return names;
    }

    private List<String> locations() {
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

    private ClaimException notWritten(String what) {
        return new ClaimException(ClaimException.NOT_WRITTEN, "The decision did not know that "
                + what + ": " + claim.describe() + ".");
    }

    private static ClaimException unknown(String what) {
        return new ClaimException(ClaimException.UNKNOWN_COMMAND, "Refused, since " + what + ".");
    }
}
