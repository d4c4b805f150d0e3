package causeway.guard.check;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** Classes of Spark's commands by how they use the tables among their arguments. */
final class Commands {
    /** These name no table, or only drop what Spark has cached about one. */
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

    /** These analyse a statement of their own when they run. It is checked then. */
    private static final Set<String> EXPLAIN = set("ExplainCommand", "StreamingExplainCommand");

    /** These read the tables that they name, or the tables' descriptions. */
    private static final Set<String> READING = set(
            "CacheTable", "CacheTableAsSelect", "CreateTempViewUsing", "CreateVariable",
            "DescribeColumn", "DescribeColumnCommand", "DescribeQueryCommand", "DescribeRelation",
            "DescribeTableCommand", "FetchCursor", "OpenCursor", "SetVariable", "ShowColumns",
            "ShowColumnsCommand", "ShowCreateTable", "ShowCreateTableAsSerdeCommand",
            "ShowCreateTableCommand", "ShowPartitions", "ShowPartitionsCommand",
            "ShowTableProperties", "ShowTablePropertiesCommand");

    /** These change rows of their first plan. Their condition does not prune its partitions. */
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

    /** Whether the command creates, alters or drops the database that its first argument names. */
    static boolean isOfDatabase(String command) {
        return command.contains("Database") || command.contains("Namespace");
    }

    private static Set<String> set(String... names) {
        return new HashSet<>(Arrays.asList(names));
    }
}
