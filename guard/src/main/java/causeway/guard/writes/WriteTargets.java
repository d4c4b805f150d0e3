package causeway.guard.writes;

import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import java.lang.reflect.Field;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Finds the tables and folders that a plan writes, by the types of its commands' arguments, so that one
 * rule serves tables of Spark, of Hive and of other sources, DataFrame writers and streams. A command
 * counts as a writer of the tables and folders among its arguments, unless {@link #HARMLESS} has it.
 */
final class WriteTargets {
    /**
     * Beginnings of the names of commands that change no file of a table, or of which the metastore changes
     * the files, by a call that the view decides.
     */
    private static final String[] HARMLESS = {
        "Add", "AlterColumn", "AlterDatabase", "AlterNamespace", "AlterTable", "AlterView", "Analyze",
        "Cache", "ClearCache", "CommandResult", "Comment", "CreateDatabase", "CreateDataSourceTableCommand",
        "CreateFunction", "CreateNamespace", "CreateTableCommand", "CreateTableLike", "CreateTempView",
        "CreateView", "Describe", "Drop", "Explain", "List", "Noop", "Refresh", "RenameTable",
        "RepairTable", "Reset", "Set", "Show", "StreamingExplain", "Uncache",
    };
    private static final String[] SPECS = {"staticPartitions", "partition", "partitionSpec"};

    private final SparkSession session;
    private final List<Write> writes = new ArrayList<>();

    private WriteTargets(SparkSession session) {
        this.session = session;
    }

    /** A node of a plan that writes, with one of its targets. */
    static final class Write {
        final LogicalPlan node;
        final WriteTarget target;

        Write(LogicalPlan node, WriteTarget target) {
            this.node = node;
            this.target = target;
        }
    }

    static List<Write> of(LogicalPlan plan, SparkSession session) {
        WriteTargets targets = new WriteTargets(session);
        targets.walk(plan);
        return targets.writes;
    }

    /** Returns the targets of one command, also of one that does not change the files of its table. */
    static List<Write> ofCommand(LogicalPlan command, SparkSession session) {
        WriteTargets targets = new WriteTargets(session);
        targets.add(command, command);
        return targets.writes;
    }

    private void walk(LogicalPlan plan) {
        if (isWriter(plan)) {
            add(plan, plan);
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            walk(each.next());
        }
    }

    static boolean isWriter(LogicalPlan plan) {
        String name = plan.getClass().getSimpleName();
        if (name.startsWith("WriteTo")) { // streams
            return true;
        }
        if (!(plan instanceof Command)) {
            return false;
        }
        for (String harmless : HARMLESS) {
            if (name.startsWith(harmless)) {
                return false;
            }
        }
        return true;
    }

    /** Adds the targets of the command `plan`. The node that Spark runs is `node`, which may be another one. */
    private void add(LogicalPlan node, LogicalPlan plan) {
        if (plan instanceof MergeIntoTable) {
            addRelations(node, ((MergeIntoTable) plan).targetTable());
            return;
        }
        if (plan instanceof UpdateTable) {
            addRelations(node, ((UpdateTable) plan).table());
            return;
        }
        if (plan instanceof DeleteFromTable) {
            addRelations(node, ((DeleteFromTable) plan).table());
            return;
        }
        int before = writes.size();
        WriteTarget paths = new WriteTarget(null);
        Object query = Plans.call(plan, "query");
        for (Object argument : Plans.arguments((Product) plan)) {
            if (argument instanceof LogicalPlan && argument != query && isChild(plan, argument)) {
                addResolved(node, (LogicalPlan) argument);
            } else if (argument != null && argument != query) {
                addArgument(node, argument, paths);
            }
        }
        for (String name : V2Tables.namedByText(session, plan)) {
            addTable(node, V2Tables.metadata(session, name));
        }
        for (Write write : writes.subList(before, writes.size())) {
            addSpec(plan, write.target);
            addPartitionFolders(write.target);
            write.target.paths.addAll(paths.paths);
        }
        if (writes.size() == before && !paths.paths.isEmpty()) {
            writes.add(new Write(node, paths));
        }
    }

    private static boolean isChild(LogicalPlan plan, Object argument) {
        return plan.children().exists(child -> child == argument);
    }

    private void addArgument(LogicalPlan node, Object argument, WriteTarget paths) {
        if (argument instanceof CatalogTable) {
            addTable(node, (CatalogTable) argument);
        } else if (argument instanceof TableIdentifier) {
            addTable(node, V2Tables.existing(session, (TableIdentifier) argument));
        } else if (argument instanceof MergeIntoTable || argument instanceof UpdateTable
                || argument instanceof DeleteFromTable) {
            add(node, (LogicalPlan) argument); // a command of another source wraps one of Spark's
        } else if (argument instanceof LogicalPlan) {
            addRelations(node, (LogicalPlan) argument);
        } else if (argument instanceof CatalogStorageFormat) {
            CatalogStorageFormat storage = (CatalogStorageFormat) argument;
            if (storage.locationUri().isDefined()) {
                paths.paths.add(new Path(storage.locationUri().get()).toString());
            }
        } else if (argument instanceof Path) {
            paths.paths.add(argument.toString());
        } else if (argument instanceof Table) {
            addSink(node, (Table) argument, paths);
        } else if (argument instanceof scala.collection.Map) {
            addPathOption((scala.collection.Map<?, ?>) argument, paths);
        } else if (argument.getClass().getSimpleName().equals("HoodieCatalogTable")) {
            addArgument(node, Plans.unwrapped(Plans.call(argument, "table")), paths);
        }
    }

    /** Adds the relations at and below {@code plan}, the target of a command. */
    private void addRelations(LogicalPlan node, LogicalPlan plan) {
        if (plan instanceof LogicalRelation) {
            LogicalRelation relation = (LogicalRelation) plan;
            WriteTarget paths = new WriteTarget(null);
            if (relation.relation() instanceof HadoopFsRelation) {
                Seq<Path> roots = ((HadoopFsRelation) relation.relation()).location().rootPaths();
                for (Iterator<Path> each = roots.iterator(); each.hasNext(); ) {
                    paths.paths.add(each.next().toString());
                }
            }
            if (relation.catalogTable().isDefined()) {
                addTable(node, relation.catalogTable().get());
                last().paths.addAll(paths.paths);
            } else if (!paths.paths.isEmpty()) {
                writes.add(new Write(node, paths));
            }
        } else if (plan instanceof HiveTableRelation) {
            addTable(node, ((HiveTableRelation) plan).tableMeta());
        } else if (plan instanceof DataSourceV2Relation) {
            DataSourceV2Relation relation = (DataSourceV2Relation) plan;
            addForeign(node, V2Tables.name(relation), relation.table());
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            addRelations(node, each.next());
        }
    }

    /** Adds the table of a plan like ResolvedTable, which Spark has put in the place of a name. */
    private void addResolved(LogicalPlan node, LogicalPlan plan) {
        Table table = plan.children().isEmpty() ? V2Tables.resolvedTable(plan) : null;
        if (table != null) {
            addForeign(node, V2Tables.resolvedName(plan), table);
        } else if (plan.children().isEmpty() && SourceCommands.replaces(node)) {
            addTable(node, V2Tables.metadata(session, V2Tables.resolvedName(plan)));
        }
    }

    /** Adds a table of the catalog interface: by its own metadata, or else by its name in the metastore. */
    private void addForeign(LogicalPlan node, String name, Table source) {
        int before = writes.size();
        WriteTarget paths = new WriteTarget(null);
        addSink(node, source, paths);
        CatalogTable table = name == null || writes.size() > before
                ? null : V2Tables.metadata(session, name);
        if (table != null) {
            addTable(node, table);
        }
        if (writes.size() > before) {
            last().paths.addAll(paths.paths);
        } else if (!paths.paths.isEmpty()) {
            writes.add(new Write(node, paths));
        }
    }

    /** Adds a table of another source, or the sink of a stream: its metastore table, and its paths. */
    private void addSink(LogicalPlan node, Table sink, WriteTarget paths) {
        Object table = Plans.unwrapped(
                first(Plans.call(sink, "catalogTable"), Plans.call(sink, "v1Table")));
        if (table instanceof CatalogTable) {
            addTable(node, (CatalogTable) table);
        }
        addPath(first(Plans.call(sink, "path"), field(sink, "path")), paths); // FileStreamSink has a field
        Object several = Plans.call(sink, "paths");
        if (several instanceof Seq) {
            for (Iterator<?> each = ((Seq<?>) several).iterator(); each.hasNext(); ) {
                addPath(each.next(), paths);
            }
        }
        addPathOption((scala.collection.Map<?, ?>) asMap(field(sink, "options")), paths);
        try {
            Map<String, String> properties = sink.properties();
            addPath(properties.get("location"), paths);
            addPath(properties.get("path"), paths);
        } catch (RuntimeException none) {
            return; // a sink of the first interface has no properties
        }
    }

    private void addTable(LogicalPlan node, CatalogTable table) {
        if (table != null) {
            WriteTarget target = new WriteTarget(table);
            if (target.paths.isEmpty() && target.isNamed()) {
                addDefaultFolder(target);
            }
            writes.add(new Write(node, target));
        }
    }

    /** Adds the default folder of a table without a location, which the command will create. */
    private void addDefaultFolder(WriteTarget target) {
        try {
            URI folder = catalog().defaultTablePath(target.table.identifier());
            target.paths.add(new Path(folder).toString());
        } catch (Exception absent) { // no such database: the command itself reports it
            return;
        }
    }

    private WriteTarget last() {
        return writes.get(writes.size() - 1).target;
    }

    private static void addPath(Object path, WriteTarget paths) {
        if (path instanceof String || path instanceof Path) {
            paths.paths.add(path.toString());
        }
    }

    private static void addPathOption(scala.collection.Map<?, ?> options, WriteTarget paths) {
        if (options != null) {
            for (Map.Entry<String, Object> each : entries(options).entrySet()) {
                if (each.getKey().equalsIgnoreCase("path")) {
                    addPath(each.getValue(), paths);
                }
            }
        }
    }

    private static void addSpec(LogicalPlan command, WriteTarget target) {
        for (String name : SPECS) {
            Object spec = Plans.unwrapped(Plans.call(command, name));
            if (spec instanceof scala.collection.Map) {
                WriteTarget.addStaticValues((scala.collection.Map<?, ?>) spec, target.spec);
            }
        }
    }

    /**
     * Adds the folder of a partition of which all values are static: it may lie outside the folder of its
     * table.
     */
    private void addPartitionFolders(WriteTarget target) {
        CatalogTable table = target.table;
        scala.collection.immutable.Map<String, String> chosen =
                WriteTarget.partitionValues(table, target.spec);
        if (chosen.isEmpty() || chosen.size() < table.partitionColumnNames().size()) {
            return;
        }
        Seq<CatalogTablePartition> partitions =
                catalog().listPartitions(table.identifier(), Option.apply(chosen));
        for (Iterator<CatalogTablePartition> each = partitions.iterator(); each.hasNext(); ) {
            CatalogStorageFormat storage = each.next().storage();
            if (storage.locationUri().isDefined()) {
                target.paths.add(new Path(storage.locationUri().get()).toString());
            }
        }
    }


    private SessionCatalog catalog() {
        return session.sessionState().catalog();
    }

    private static Map<String, Object> entries(scala.collection.Map<?, ?> map) {
        Map<String, Object> entries = new HashMap<>();
        for (Iterator<? extends Tuple2<?, ?>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<?, ?> pair = each.next();
            if (pair._1() instanceof String) {
                entries.put((String) pair._1(), Plans.unwrapped(pair._2()));
            }
        }
        return entries;
    }

    private static Object asMap(Object value) {
        return value instanceof scala.collection.Map ? value : null;
    }

    private static Object first(Object one, Object other) {
        return one != null ? one : other;
    }


    private static Object field(Object target, String name) {
        try {
            Field field = target.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(target);
        } catch (NoSuchFieldException | IllegalAccessException none) {
            return null;
        }
    }
}
