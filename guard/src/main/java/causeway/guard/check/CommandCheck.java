package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Selection;
import causeway.guard.plans.Paths;
import causeway.guard.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Compares one command with the claim of its statement. A command that may write, but has no
 * {@link CommandTargets}, is refused: its writes are not known.
 */
final class CommandCheck {
    private final SparkSession session;
    private final Claim claim;
    private final Paths paths;
    private final TableFolders tableFolders;
    private final CommandTargets targets;

    CommandCheck(SparkSession session, Claim claim, Paths paths) {
        this.session = session;
        this.claim = claim;
        this.paths = paths;
        tableFolders = new TableFolders(session, claim, paths);
        targets = new CommandTargets(session, claim, paths);
    }

    void check(LogicalPlan command, String name) {
        List<Object> arguments = Plans.arguments((Product) command);
        if (isOfTemporaryView(name, arguments)) {
            return;
        }
        if (name.equals("CacheTableAsSelect")) {
            claim.alsoOpens(Plans.lower(Plans.text(arguments.get(0)))); // the view that it creates
        }
        if (isReading(name)) {
            if (claim.mode == Claim.Mode.RUN) {
                checkReading(name, arguments);
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
            return true; // it reads its folder by a relation, which ClaimCheck checks
        }
        if (name.equals("CreateViewCommand")) {
            return arguments.stream().noneMatch(each -> CommandTargets.isNamed(each, "PersistedView"));
        }
        return !arguments.isEmpty() && arguments.get(0) instanceof TableIdentifier
                && session.sessionState().catalog().isTempView((TableIdentifier) arguments.get(0))
                && (claim.mode != Claim.Mode.RUN
                        || claim.opens(Plans.name((TableIdentifier) arguments.get(0))));
    }

    private void checkReading(String name, List<Object> arguments) {
        for (Object each : arguments) {
            if (each instanceof TableIdentifier) {
                TableIdentifier table = inItsDatabase(name, (TableIdentifier) each, arguments);
                if (!claim.opens(Plans.name(table))) {
                    ClaimCheck.read(targets.nameOf(table), claim);
                }
            } else if (each instanceof Table && CommandTargets.wrapped(each) != null) {
                ClaimCheck.read(Plans.name(CommandTargets.wrapped(each).identifier()), claim);
            }
        }
    }

    /** Adds the database of `SHOW COLUMNS IN v FROM d`: for a view, Spark 4 has it as another argument. */
    private static TableIdentifier inItsDatabase(
            String name, TableIdentifier table, List<Object> arguments) {
        if (table.database().isEmpty() && name.equals("ShowColumnsCommand")) {
            for (Object each : arguments) {
                if (each instanceof String) {
                    return new TableIdentifier(table.table(), Option.apply((String) each));
                }
            }
        }
        return table;
    }

    private void checkWriting(LogicalPlan command, String name, List<Object> arguments) {
        if (Commands.isOfDatabase(name)) {
            String database = database(arguments.get(0));
            if (!claim.writesDatabase(database)) {
                throw notWritten(name + " changes database " + database);
            }
            return;
        }
        targets.collect(command, name, arguments);
        if (targets.isEmpty()) {
            throw ClaimException.unknownCommand("what " + name + " writes is not known");
        }
        boolean isIfNotExists = name.startsWith("Create") && name.contains("Table")
                && hasIfNotExists(arguments);
        for (String target : targets.names) {
            if (claim.written(target) == null && isIfNotExists
                    && session.sessionState().catalog().tableExists(identifier(target))) {
                return; // IF NOT EXISTS: nothing is created
            }
            checkTarget(target, name);
        }
        for (String folder : targets.folders) {
            if (!paths.isIn(folder, claim.pathsWritten()) && !paths.isIn(folder, claim.pathsRead())
                    && !tableFolders.hasWritten(folder)) {
                throw notWritten(name + " uses folder " + folder);
            }
        }
        targets.locations().forEach(claim::alsoWrites);
    }

    private static boolean hasIfNotExists(List<Object> arguments) {
        return arguments.contains(Boolean.TRUE) || arguments.contains(SaveMode.Ignore);
    }

    /** Returns the database that a command's first argument names: by itself or as a ResolvedNamespace. */
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

    private void checkTarget(String target, String name) {
        Selection claimed = claim.written(target);
        if (claimed == null && name.startsWith("Drop")) {
            if (!session.sessionState().catalog().tableExists(identifier(target))) {
                return; // nothing is dropped
            }
            if (claim.tablesWritten().isEmpty()) {
                throw ClaimCheck.changed(target); // it did not exist when the proxy decided
            }
        }
        if (claimed == null) {
            throw notWritten(name + " writes table " + target);
        }
        if (claimed.isAll()) {
            return;
        }
        List<String> columns = partitionColumns(target);
        boolean hasPartition = false;
        for (Map<String, String> each : targets.maps) {
            if (columns.containsAll(each.keySet()) && !each.isEmpty()) {
                hasPartition = true;
                checkSpec(target, columns, each, claimed);
            }
        }
        if (!hasPartition) {
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
        for (CatalogTable table : targets.tables) {
            if (Plans.name(table.identifier()).equals(target)) {
                return columns(table);
            }
        }
        try {
            return columns(session.sessionState().catalog().getTableMetadata(identifier(target)));
        } catch (NoSuchDatabaseException | NoSuchTableException gone) {
            return new ArrayList<>(); // then no specification has these columns
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

    private ClaimException notWritten(String action) {
        return new ClaimException(ClaimException.NOT_WRITTEN, "The decision did not know that "
                + action + ": " + claim.describe() + ".");
    }
}
