package causeway.guard.check;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** How Spark's commands use the tables among their arguments, by the command's class. */
final class Commands {
    /** They name no table, or only drop Spark's cached facts of one. */
    private static final Set<String> FREE = set(
            "AddArchivesCommand", "AddFilesCommand", "AddJarsCommand", "ClearCacheCommand",
            "CloseCursor", "CreateFunctionCommand", "CreateSQLFunctionCommand",
            "CreateUserDefinedFunction", "DeclareCursor", "DescribeDatabaseCommand",
            "DescribeFunction", "DescribeFunctionCommand", "DescribeNamespace",
            "DropFunctionCommand", "DropTempViewCommand", "DropVariable", "ListArchivesCommand",
            "ListFilesCommand", "ListJarsCommand", "NoopCommand", "RefreshFunctionCommand",
            "RefreshResource", "RefreshTable", "RefreshTableCommand", "ResetCommand",
            "SetCatalogAndNamespace", "SetCatalogCommand", "SetCommand", "SetNamespaceCommand",
            "ShowCatalogsCommand", "ShowCurrentNamespaceCommand", "ShowFunctions",
            "ShowFunctionsCommand", "ShowNamespaces", "ShowTableExtended", "ShowTables",
            "ShowTablesCommand", "ShowViews", "ShowViewsCommand", "UncacheTable");

    /** They analyse a statement of their own when they run, which is checked then. */
    private static final Set<String> EXPLAIN = set("ExplainCommand", "StreamingExplainCommand");

    /** They read the tables that they name, or the tables' descriptions. */
    private static final Set<String> READING = set(
            "CacheTable", "CacheTableAsSelect", "CreateTempViewUsing", "CreateVariable",
            "DescribeColumn", "DescribeColumnCommand", "DescribeQueryCommand", "DescribeRelation",
            "DescribeTableCommand", "FetchCursor", "OpenCursor", "SetVariable", "ShowColumns",
            "ShowColumnsCommand", "ShowCreateTable", "ShowCreateTableAsSerdeCommand",
            "ShowCreateTableCommand", "ShowPartitions", "ShowPartitionsCommand",
            "ShowTableProperties", "ShowTablePropertiesCommand");

    /** They change rows of their first plan; their condition does not filter its partitions. */
    private static final Set<String> ROW_CHANGES =
            set("DeleteFromTable", "MergeIntoTable", "UpdateTable");

    private Commands() {
    }

    static boolean isFree(String command) {
        return FREE.contains(command);
    }

    static boolean isExplain(String command) {
        return EXPLAIN.contains(command);
    }

    static boolean isReading(String command) {
        return READING.contains(command);
    }

    static boolean isRowChange(String command) {
        return ROW_CHANGES.contains(command);
    }

    /** Whether it creates, alters or drops a database, which its first argument names. */
    static boolean isOfDatabase(String command) {
        return command.contains("Database") || command.contains("Namespace");
    }

    private static Set<String> set(String... names) {
        return new HashSet<>(Arrays.asList(names));
    }
}
