package causeway.guard.writes;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Claims;
import causeway.guard.claim.Refusals;
import causeway.guard.facts.PartitionFacts;
import causeway.guard.facts.TableFacts;
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
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Checks the primary cluster of the tables, partitions and folders that an analysed plan writes, before
 * the plan runs. Targets of a command are found among its arguments by type, so that one rule serves
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
        // The server's configuration, not the session's: a client cannot SET it away.
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
        boolean writes = name.startsWith("InsertInto") || name.startsWith("TruncateTableCommand")
                || name.startsWith("LoadData");
        if (writes || name.endsWith("AsSelectCommand")) {
            checkCommand((Product) plan, writes);
        } else if (SourceCommands.changesTables(plan)) {
            checkSource(plan);
        }
        for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
            checkTree(each.next());
        }
    }

    private void checkCommand(Product command, boolean writes) {
        CatalogTable table = null;
        String folder = null;
        Map<String, String> spec = new HashMap<>();
        for (int i = 0; i < command.productArity(); i++) {
            Object argument = unwrapped(command.productElement(i));
            if (argument instanceof CatalogTable && writes) {
                table = (CatalogTable) argument;
            } else if (argument instanceof CatalogTable) {
                table = existing(((CatalogTable) argument).identifier());
                folder = location(((CatalogTable) argument).storage());
            } else if (argument instanceof TableIdentifier) {
                table = existing((TableIdentifier) argument);
            } else if (argument instanceof CatalogStorageFormat) {
                folder = location((CatalogStorageFormat) argument);
            } else if (argument instanceof scala.collection.Map) {
                addSpec((scala.collection.Map<?, ?>) argument, spec);
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
        List<WriteTargets.Write> found = WriteTargets.ofCommand(command, session);
        if (found.isEmpty() && SourceCommands.mustNameTable(command)) {
            ClaimException refused = ClaimException.unknownCommand(
                    "what " + command.getClass().getSimpleName() + " writes is not known");
            Claim claim = Claims.of(session);
            throw claim == null ? refused : Refusals.uncaught(claim, refused);
        }
        Set<String> granted = new HashSet<>();
        for (WriteTargets.Write write : found) {
            // The table of a plan may be new, or be read before its facts were changed.
            CatalogTable table = write.target.isNamed()
                    ? existing(write.target.table.identifier()) : null;
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
        if (!found.isEmpty()) {
            WriteGrant.replace(session.sparkContext(), granted);
        }
    }

    private void checkTable(CatalogTable table, Map<String, String> spec, Set<String> granted) {
        Map<String, String> facts = TableFacts.of(table);
        String primary = facts.getOrDefault(PRIMARY, defaultCluster);
        String what = "table " + table.database() + "." + table.identifier().table();
        if (cluster.equals(facts.get(PRIMARY))) {
            granted.addAll(folder(table.storage()));
        }
        boolean uniform = "uniform".equals(facts.get(PARTITIONS));
        if (table.partitionColumnNames().isEmpty()) {
            refuseForeign(what, primary);
        } else if (uniform) {
            refuseForeign(what, primary);
        } else {
            checkPartitions(table, spec, what, primary, granted);
        }
    }

    /**
     * Checks the partitions that the static part of the partition specification selects. An existing
     * partition that is named in full belongs to its own primary. Any other write may create
     * partitions, which belong to the table's primary.
     */
    private void checkPartitions(
            CatalogTable table, Map<String, String> spec, String what, String primary,
            Set<String> granted) {
        scala.collection.immutable.Map<String, String> chosen =
                scala.collection.immutable.Map$.MODULE$.empty();
        for (Map.Entry<String, String> entry : spec.entrySet()) {
            if (table.partitionColumnNames().contains(entry.getKey())) {
                chosen = chosen.$plus(new Tuple2<>(entry.getKey(), entry.getValue()));
            }
        }
        Option<scala.collection.immutable.Map<String, String>> filter =
                chosen.isEmpty() ? Option.empty() : Option.apply(chosen);
        Seq<CatalogTablePartition> found = catalog().listPartitions(table.identifier(), filter);
        if (chosen.size() < table.partitionColumnNames().size() || found.isEmpty()) {
            refuseForeign(what, primary);
        }
        Map<String, Map<String, String>> facts = new PartitionFacts(storage).of(table, found);
        for (Iterator<CatalogTablePartition> each = found.iterator(); each.hasNext(); ) {
            CatalogTablePartition partition = each.next();
            String named = facts.get(PartitionFacts.name(table, partition)).get(PRIMARY);
            String owner = named == null ? primary : named;
            refuseForeign("partition " + partition.spec().mkString(", ") + " of " + what, owner);
            if (cluster.equals(named)) {
                granted.addAll(folder(table.storage())); // where Spark has its temporary files
                granted.addAll(folder(partition.storage()));
            }
        }
    }

    private void refuseForeign(String what, String primary) {
        if (!primary.equals(cluster)) {
            throw new OutsidePrimaryException(what, primary, cluster);
        }
    }

    private void checkFolder(String folder) {
        String owner = storage.foreignCluster(folder);
        if (owner != null) {
            refuseForeign("folder " + folder, owner);
        }
    }

    private CatalogTable existing(TableIdentifier name) {
        SessionCatalog catalog = catalog();
        try {
            boolean there = !catalog.isTempView(name) && catalog.tableExists(name);
            return there ? catalog.getTableMetadata(name) : null;
        } catch (NoSuchDatabaseException | NoSuchTableException gone) {
            return null; // the command itself reports it
        }
    }

    private SessionCatalog catalog() {
        return session.sessionState().catalog();
    }

    private static String location(CatalogStorageFormat storage) {
        return storage.locationUri().isDefined() ? storage.locationUri().get().toString() : null;
    }

    private static Set<String> folder(CatalogStorageFormat storage) {
        String place = location(storage);
        return place == null ? Collections.emptySet() : Collections.singleton(place);
    }

    /** Adds the keys that have a value; a key without a value is dynamic. */
    private static void addSpec(scala.collection.Map<?, ?> map, Map<String, String> spec) {
        for (Iterator<? extends Tuple2<?, ?>> each = map.iterator(); each.hasNext(); ) {
            Tuple2<?, ?> pair = each.next();
            Object value = unwrapped(pair._2());
            if (pair._1() instanceof String && value instanceof String) {
                spec.put((String) pair._1(), (String) value);
            }
        }
    }

    private static Object unwrapped(Object value) {
        if (value instanceof Option) {
            Option<?> option = (Option<?>) value;
            return option.isDefined() ? option.get() : null;
        }
        return value;
    }
}
