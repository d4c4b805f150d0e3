package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Claims;
import causeway.guard.claim.Refusals;
import causeway.guard.claim.Selection;
import causeway.guard.facts.PartitionFacts;
import causeway.guard.facts.TableFacts;
import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import causeway.guard.storage.ServerStorage;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Compares the partitions that an optimised plan selects with the claim of its statement. It is a
 * strategy of the planner that plans nothing: extensions cannot add an optimizer rule that runs after
 * Spark has pruned partitions.
 */
public final class PartitionCheck extends SparkStrategy {
    private static final String NO_VALUE = "__HIVE_DEFAULT_PARTITION__";

    private static final String CACHE_MANAGER = "org.apache.spark.sql.execution.CacheManager";

    private final SparkSession session;
    private final String cluster;
    private final Freshness freshness;

    public PartitionCheck(SparkSession session) {
        this.session = session;
        SparkConf conf = session.sparkContext().getConf();
        cluster = conf.get("spark.causeway.cluster", "");
        freshness = new Freshness(cluster, conf.get("spark.causeway.default.cluster", cluster));
    }

    @Override
    public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
        // The planner calls the strategy with the whole plan first, and then with parts of it.
        Claim claim = plan instanceof ReturnAnswer && !cluster.isEmpty() ? Claims.of(session) : null;
        if (claim != null && claim.mode != Claim.Mode.READ) {
            try {
                check(plan, claim);
            } catch (ClaimException refused) {
                if (!isOfCache()) {
                    throw Refusals.reported(session, claim, refused);
                }
            }
        }
        return scala.collection.immutable.List$.MODULE$.<SparkPlan>empty();
    }

    /**
     * Whether Spark plans cached queries of any session again, because the statement has changed one of
     * their tables. This reads nothing: the next statement that reads the cached rows has a claim for them.
     */
    private static boolean isOfCache() {
        for (StackTraceElement each : Thread.currentThread().getStackTrace()) {
            if (each.getClassName().startsWith(CACHE_MANAGER)
                    && each.getMethodName().contains("recache")) {
                return true;
            }
        }
        return false;
    }

    private void check(LogicalPlan plan, Claim claim) {
        if (Commands.isRowChange(plan.getClass().getSimpleName())) {
            return; // Spark refuses it for a table of files, and plans another command for other tables
        }
        CatalogTable table = Plans.table(plan);
        String source = table == null ? Plans.foreignName(plan) : null;
        boolean isData = table != null || source != null
                || plan instanceof LogicalRelation && !Plans.isLog((LogicalRelation) plan);
        if (claim.readsNoData() && isData) {
            throw new ClaimException(ClaimException.PARTITION_NOT_READ, "Spark reads data, and the"
                    + " decision knew only that views are changed.");
        }
        if (table != null) {
            checkTable(plan, table, claim);
        } else if (source != null) {
            checkSource(source, claim);
        }
        Plans.forEachBelow(plan, each -> check(each, claim));
    }

    private void checkTable(LogicalPlan plan, CatalogTable table, Claim claim) {
        String name = Plans.name(table.identifier());
        boolean repeated = claim.mode == Claim.Mode.SESSION;
        Selection claimed = repeated ? Selection.READABLE : ClaimCheck.read(name, claim);
        if (table.partitionColumnNames().isEmpty()) {
            checkWhole(table, claimed, claim);
        } else if (claimed.isAll() && !claimed.readsCopy()) {
            return;
        } else if (plan instanceof HiveTableRelation) {
            Option<? extends Seq<CatalogTablePartition>> pruned =
                    ((HiveTableRelation) plan).prunedPartitions();
            checkCatalog(table, pruned.isDefined() ? pruned.get() : listed(table), claimed, claim);
        } else if (plan instanceof LogicalRelation
                && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
            checkFiles((HadoopFsRelation) ((LogicalRelation) plan).relation(), table, claimed, claim);
        } else {
            checkAll(table, claim);
        }
    }

    /** Checks a table of the catalog interface, which may have partitions in its own metadata alone. */
    private void checkSource(String name, Claim claim) {
        boolean repeated = claim.mode == Claim.Mode.SESSION;
        Selection claimed = repeated ? Selection.READABLE : ClaimCheck.read(name, claim);
        boolean isPart = !claimed.isAll() || claimed.readsCopy();
        CatalogTable table = isPart && !claimed.isNone() ? V2Tables.metadata(session, name) : null;
        if (table != null && !table.partitionColumnNames().isEmpty()) {
            checkAll(table, claim);
        } else if (table != null && repeated) {
            checkWhole(table, claimed, claim);
        } else if (repeated || claimed.isNone()) {
            throw new ClaimException(ClaimException.PARTITION_NOT_READ, "Spark reads the data of table "
                    + name + ", of which the decision knew at most that its description is read.");
        }
    }

    private void checkWhole(CatalogTable table, Selection claimed, Claim claim) {
        String name = Plans.name(table.identifier());
        if (claimed.isNone()) {
            throw new ClaimException(ClaimException.PARTITION_NOT_READ, "Spark reads the data of table "
                    + name + ", of which the decision knew only that its description is read.");
        }
        if (claimed == Selection.READABLE && !freshness.isReadable(TableFacts.of(table), claim)) {
            throw ClaimCheck.changed(name);
        }
    }

    private void checkFiles(
            HadoopFsRelation files, CatalogTable table, Selection claimed, Claim claim) {
        FileIndex index = files.location();
        if (index instanceof CatalogFileIndex) { // Spark pruned no partition
            checkCatalog(table, listed(table), claimed, claim);
        } else if (index instanceof PartitioningAwareFileIndex) {
            List<InternalRow> read = rows((PartitioningAwareFileIndex) index);
            boolean hasSameFacts = !claimed.readsCopy()
                    || freshness.isSameFacts(TableFacts.of(table), claimed, claim);
            if (!hasSameFacts || !areClaimed(read, files.partitionSchema(), claimed)) {
                checkCatalog(table, listed(table, read, files.partitionSchema()), claimed, claim);
            }
        } else {
            checkAll(table, claim);
        }
    }

    private void checkCatalog(
            CatalogTable table, Seq<CatalogTablePartition> read, Selection claimed, Claim claim) {
        for (Iterator<CatalogTablePartition> each = read.iterator(); each.hasNext(); ) {
            checkValues(table, PartitionFacts.values(table, each.next()), claimed);
        }
        if (claimed.readsCopy()
                && !freshness.isSameFacts(TableFacts.of(table), claimed, claim)) {
            CatalogTablePartition other = unreadable(table, read, claim);
            if (other != null) {
                throw ClaimCheck.changed(Plans.name(table.identifier()) + ", partition "
                        + PartitionFacts.values(table, other) + ",");
            }
        }
    }

    /** Checks that the cluster may read all partitions of a table whose reader prunes them itself. */
    private void checkAll(CatalogTable table, Claim claim) {
        if (freshness.isUniform(TableFacts.of(table))) {
            return; // ClaimCheck has checked the table as a whole
        }
        CatalogTablePartition other = unreadable(table, listed(table), claim);
        if (other != null) {
            throw new ClaimException(ClaimException.PARTITION_NOT_READ, "Spark may read partition "
                    + PartitionFacts.values(table, other) + " of table "
                    + Plans.name(table.identifier()) + ", which this cluster does not have.");
        }
    }

    /** Returns the first partition that the cluster may not read; null without one. */
    private CatalogTablePartition unreadable(
            CatalogTable table, Seq<CatalogTablePartition> read, Claim claim) {
        Map<String, String> whole = TableFacts.of(table);
        boolean uniform = freshness.isUniform(whole); // its partitions have no facts of their own
        Map<String, Map<String, String>> own = uniform
                ? Collections.emptyMap()
                : new PartitionFacts(ServerStorage.current()).of(table, read);
        for (Iterator<CatalogTablePartition> each = read.iterator(); each.hasNext(); ) {
            CatalogTablePartition partition = each.next();
            String name = PartitionFacts.name(table, partition);
            Map<String, String> facts = own.getOrDefault(name, Collections.emptyMap());
            if (!freshness.isReadable(facts, whole, name, claim)) {
                return partition;
            }
        }
        return null;
    }

    private static void checkValues(CatalogTable table, List<String> values, Selection claimed) {
        if (!claimed.contains(values)) {
            throw new ClaimException(ClaimException.PARTITION_NOT_READ, "Spark reads partition "
                    + values + " of table " + Plans.name(table.identifier())
                    + ", which the decision did not know to be read.");
        }
    }

    private Seq<CatalogTablePartition> listed(CatalogTable table) {
        return session.sessionState().catalog().listPartitions(table.identifier(), Option.empty());
    }

    /** Returns the metastore's partitions for those of a file index, which has typed values alone. */
    private Seq<CatalogTablePartition> listed(
            CatalogTable table, List<InternalRow> read, StructType schema) {
        Set<InternalRow> rows = new HashSet<>(read);
        String zone = session.sessionState().conf().sessionLocalTimeZone();
        return (Seq<CatalogTablePartition>) listed(table).filter(
                each -> rows.contains(each.toRow(schema, zone)));
    }


    private static List<InternalRow> rows(PartitioningAwareFileIndex index) {
        List<InternalRow> rows = new ArrayList<>();
        for (Iterator<PartitionPath> each = index.partitionSpec().partitions().iterator();
                each.hasNext(); ) {
            rows.add(each.next().values());
        }
        return rows;
    }

    /**
     * Whether the claim certainly allows all rows of partition values, compared by the usual text of each
     * value. False does not mean that it forbids one: the number 1 may be of a partition named 01.
     */
    private boolean areClaimed(List<InternalRow> rows, StructType schema, Selection claimed) {
        for (InternalRow row : rows) {
            List<String> values = new ArrayList<>();
            for (int i = 0; i < schema.length(); i++) {
                if (claimed.isExcept() && !schema.apply(i).dataType().equals(DataTypes.StringType)) {
                    return false;
                }
                values.add(text(row, i, schema.apply(i).dataType()));
            }
            if (!claimed.contains(values)) {
                return false;
            }
        }
        return true;
    }

    private String text(InternalRow row, int column, DataType type) {
        if (row.isNullAt(column)) {
            return NO_VALUE;
        }
        Option<String> zone = Option.apply(session.sessionState().conf().sessionLocalTimeZone());
        Literal value = new Literal(row.get(column, type), type);
        return new Cast(value, DataTypes.StringType, zone).eval(null).toString();
    }
}
