package causeway.guard.writes;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Claims;
import causeway.guard.claim.Refusals;
import causeway.guard.facts.PartitionFacts;
import causeway.guard.facts.TableFacts;
import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import causeway.guard.storage.ServerStorage;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses an analysed plan that writes a table, partition or folder outside its primary cluster, before
 * the plan runs. The targets of a command are found among its arguments by type, so that one rule serves
 * tables of Hive and of Spark.
 */
public final class WriteCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private static final String PRIMARY = "causeway.primary";
    private static final String PARTITIONS = "causeway.partitions";

    private final SparkSession session;
    private final String cluster;
    private final String defaultCluster;
    private final ServerStorage storage;

    public WriteCheck(SparkSession session) {
        this.session = session;
        // The configuration of the server, which a client cannot SET.
        SparkConf conf = session.sparkContext().getConf();
        cluster = conf.get(ServerStorage.CLUSTER, "");
        defaultCluster = conf.get("spark.causeway.default.cluster", cluster);
        storage = ServerStorage.current();
    }

    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        if (!cluster.isEmpty()) {
            checkTree(plan);
        }
        return BoxedUnit.UNIT;
    }

    private void checkTree(LogicalPlan plan) {
        String name = plan.getClass().getSimpleName();
        boolean hasTable = name.startsWith("InsertInto") || name.startsWith("TruncateTableCommand")
                || name.startsWith("LoadData");
        if (hasTable || name.endsWith("AsSelectCommand")) {
            checkCommand((Product) plan, hasTable);
        } else if (SourceCommands.changesTables(plan)) {
            checkSource(plan);
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            checkTree(each.next());
        }
    }

    /** {@code hasTable}: the command's CatalogTable exists. Otherwise the command may create it. */
    private void checkCommand(Product command, boolean hasTable) {
        CatalogTable table = null;
        String folder = null;
        Map<String, String> spec = new HashMap<>();
        for (Object argument : Plans.arguments(command)) {
            if (argument instanceof CatalogTable && hasTable) {
                table = (CatalogTable) argument;
            } else if (argument instanceof CatalogTable) {
                table = V2Tables.existing(session, ((CatalogTable) argument).identifier());
                folder = location(((CatalogTable) argument).storage());
            } else if (argument instanceof TableIdentifier) {
                table = V2Tables.existing(session, (TableIdentifier) argument);
            } else if (argument instanceof CatalogStorageFormat) {
                folder = location((CatalogStorageFormat) argument);
            } else if (argument instanceof scala.collection.Map) {
                WriteTarget.addStaticValues((scala.collection.Map<?, ?>) argument, spec);
            } else if (argument != null
                    && argument.getClass().getName().equals("org.apache.hadoop.fs.Path")) {
                folder = argument.toString();
            }
        }
        Set<String> granted = new HashSet<>();
        if (table != null) {
            checkTable(table, spec, granted);
        } else if (folder != null) {
            checkFolder(folder);
        }
        WriteGrant.replace(session.sparkContext(), granted);
    }

    /** Checks a command of the catalog interface (DataSource V2) or of an extension of Spark. */
    private void checkSource(LogicalPlan command) {
        List<WriteTargets.Write> writes = WriteTargets.ofCommand(command, session);
        if (writes.isEmpty() && SourceCommands.mustNameTable(command)) {
            ClaimException refused = ClaimException.unknownCommand(
                    "what " + command.getClass().getSimpleName() + " writes is not known");
            Claim claim = Claims.of(session);
            throw claim == null ? refused : Refusals.uncaught(claim, refused);
        }
        Set<String> granted = new HashSet<>();
        for (WriteTargets.Write write : writes) {
            // The table of a plan may be new, or have facts that changed after Spark read it.
            CatalogTable table = write.target.isNamed()
                    ? V2Tables.existing(session, write.target.table.identifier()) : null;
            if (table != null) {
                checkTable(table, write.target.spec, granted);
            } else {
                write.target.paths.forEach(this::checkFolder);
            }
        }
        String location = SourceCommands.newLocation(command);
        if (location != null) {
            checkFolder(location);
        }
        if (!writes.isEmpty()) {
            WriteGrant.replace(session.sparkContext(), granted);
        }
    }

    private void checkTable(CatalogTable table, Map<String, String> spec, Set<String> granted) {
        Map<String, String> facts = TableFacts.of(table);
        String primary = facts.getOrDefault(PRIMARY, defaultCluster);
        String object = "table " + table.database() + "." + table.identifier().table();
        if (cluster.equals(facts.get(PRIMARY))) {
            granted.addAll(folder(table.storage()));
        }
        boolean isUniform = "uniform".equals(facts.get(PARTITIONS)); // no partition has facts of its own
        if (table.partitionColumnNames().isEmpty() || isUniform) {
            refuseForeign(object, primary);
        } else {
            checkPartitions(table, spec, object, primary, granted);
        }
    }

    /**
     * Checks the partitions that the static part of the partition specification selects. An existing
     * partition that is named in full belongs to its own primary. Any other write may create
     * partitions, which belong to the table's primary.
     */
    private void checkPartitions(
            CatalogTable table, Map<String, String> spec, String object, String primary,
            Set<String> granted) {
        scala.collection.immutable.Map<String, String> chosen = WriteTarget.partitionValues(table, spec);
        Option<scala.collection.immutable.Map<String, String>> filter =
                chosen.isEmpty() ? Option.empty() : Option.apply(chosen);
        Seq<CatalogTablePartition> partitions = catalog().listPartitions(table.identifier(), filter);
        if (chosen.size() < table.partitionColumnNames().size() || partitions.isEmpty()) {
            refuseForeign(object, primary);
        }
        Map<String, Map<String, String>> facts = new PartitionFacts(storage).of(table, partitions);
        for (Iterator<CatalogTablePartition> each = partitions.iterator(); each.hasNext(); ) {
            CatalogTablePartition partition = each.next();
            String named = facts.get(PartitionFacts.name(table, partition)).get(PRIMARY);
            String owner = named == null ? primary : named;
            refuseForeign("partition " + partition.spec().mkString(", ") + " of " + object, owner);
            if (cluster.equals(named)) {
                granted.addAll(folder(table.storage())); // where Spark has its temporary files
                granted.addAll(folder(partition.storage()));
            }
        }
    }

    private void refuseForeign(String object, String primary) {
        if (!primary.equals(cluster)) {
            throw new OutsidePrimaryException(object, primary, cluster);
        }
    }

    private void checkFolder(String folder) {
        String owner = storage.foreignCluster(folder);
        if (owner != null) {
            refuseForeign("folder " + folder, owner);
        }
    }


    private SessionCatalog catalog() {
        return session.sessionState().catalog();
    }

    private static String location(CatalogStorageFormat storage) {
        return storage.locationUri().isDefined() ? storage.locationUri().get().toString() : null;
    }

    private static Set<String> folder(CatalogStorageFormat storage) {
        String location = location(storage);
        return location == null ? Collections.emptySet() : Collections.singleton(location);
    }
}
