package causeway.guard.writes;

import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Table;
import scala.collection.Iterator;

/**
 * Commands of Spark's catalog interface (DataSource V2) and of extensions, as those of Iceberg and
 * Delta. Their package distinguishes them from Spark's older commands. {@link WriteTargets} finds their
 * tables. No list names the commands that write: a list names those that do not.
 */
final class SourceCommands {
    private static final String[] OLDER = {
        "org.apache.spark.sql.execution.", "org.apache.spark.sql.hive.",
    };
    /** Beginnings of the names of commands that change no table. */
    private static final String[] READING = {
        "Cache", "ClearCache", "CommandResult", "CreateFunction", "CreateNamespace", "CreateTempView",
        "CreateUserDefinedFunction", "CreateVariable", "CreateView", "Describe", "DropFunction", "Explain",
        "List", "Noop", "Refresh", "Reset", "SetCatalog", "SetNamespace", "SetVariable", "Show", "Uncache",
    };
    /** A package whose commands may write a table that is not found: the agent checks their files. */
    private static final String HUDI = "org.apache.spark.sql.hudi.";
    private static final String OLDER_TABLE = "V1Table";

    private SourceCommands() {}

    /** Whether a command may change tables, in the catalog or in their files. */
    static boolean changesTables(LogicalPlan plan) {
        if (!(plan instanceof Command) || startsWith(plan.getClass().getName(), OLDER)
                || startsWith(plan.getClass().getSimpleName(), READING)) {
            return false;
        }
        // Any other command changes the metastore first, and the metastore view refuses that.
        return WriteTargets.isWriter(plan) || hasSourceTable(plan);
    }

    private static boolean hasSourceTable(LogicalPlan command) {
        for (Iterator<LogicalPlan> each = command.children().iterator(); each.hasNext(); ) {
            LogicalPlan child = each.next();
            Table table = child.children().isEmpty() ? V2Tables.resolvedTable(child) : null;
            if (table != null && !table.getClass().getSimpleName().equals(OLDER_TABLE)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the command is refused if none of its tables and folders is found. */
    static boolean mustNameTable(LogicalPlan command) {
        // These have a table that is not in the metastore: a new one, one of another catalog, or a topic.
        boolean hasTable = command instanceof V2CreateTablePlan || command instanceof V2WriteCommand
                || command instanceof DeleteFromTable || command instanceof UpdateTable
                || command instanceof MergeIntoTable || hasSourceTable(command);
        return WriteTargets.isWriter(command) && !hasTable
                && !command.getClass().getSimpleName().endsWith("View")
                && !command.getClass().getName().startsWith(HUDI);
    }

    /** Whether the command replaces the table that it names, if it exists. */
    static boolean replaces(LogicalPlan command) {
        return command instanceof V2CreateTablePlan
                && command.getClass().getSimpleName().startsWith("Replace");
    }

    /** Returns the folder in which the command creates a table; null if it names none. */
    static String newLocation(LogicalPlan command) {
        Object spec = command instanceof V2CreateTablePlan ? Plans.call(command, "tableSpec") : null;
        Object location = spec == null ? null : Plans.unwrapped(Plans.call(spec, "location"));
        return location == null ? null : location.toString();
    }

    private static boolean startsWith(String name, String[] beginnings) {
        for (String each : beginnings) {
            if (name.startsWith(each)) {
                return true;
            }
        }
        return false;
    }
}
