package causeway.guard.incremental;

import causeway.guard.claim.ChangeRange;
import causeway.guard.claim.Claim;
import causeway.guard.claim.SessionClaims;
import causeway.guard.plans.Plans;
import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.SchemaRelationProvider;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Makes a statement read the changed rows of a Hudi table if its claim has a range for the table: replaces
 * the table's relation by Hudi's incremental relation of the same table. {@link Check} refuses a plan in
 * which a relation was not replaced. docs/internals/claim.md, "Changes of Hudi tables", has the theory.
 *
 * <p>The new relation keeps the table and the attributes, so all checks of the claim stay as they are.
 */
public final class IncrementalRead extends Rule<LogicalPlan> {
    private static final String COMMIT_TIME = "_hoodie_commit_time";
    private static final String READ_OPTIMIZED = "hoodie.query.as.ro.table";

    /** The commits by range object: the reads of a table by one statement share it, and so the commits. */
    private static final Map<ChangeRange, Selected> SELECTED =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final SparkSession session;
    private final SessionClaims claims;

    public IncrementalRead(SparkSession session) {
        this.session = session;
        claims = new SessionClaims(session);
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        Claim claim = claims.current();
        return claim == null || !claim.hasRanges() ? plan
                : plan.resolveOperatorsUp(new RelationReplacer(claim));
    }

    private final class RelationReplacer extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
        private final Claim claim;

        RelationReplacer(Claim claim) {
            this.claim = claim;
        }

        @Override
        public boolean isDefinedAt(LogicalPlan plan) {
            return isWhole(plan) && claim.range(Plans.name(Plans.table(plan).identifier())) != null;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A1 extends LogicalPlan, B1> B1 applyOrElse(A1 plan, Function1<A1, B1> otherwise) {
            return isDefinedAt(plan) ? (B1) replaced((LogicalRelation) plan, claim) : otherwise.apply(plan);
        }
    }

    /** Whether the plan is the relation by which Hudi reads all present rows of a table. */
    private static boolean isWhole(LogicalPlan plan) {
        if (!(plan instanceof LogicalRelation) || Plans.table(plan) == null) {
            return false;
        }
        BaseRelation relation = ((LogicalRelation) plan).relation();
        return relation instanceof HadoopFsRelation
                && reader(relation).equals("HoodieFileIndex")
                && !((HadoopFsRelation) relation).options().contains("as.of.instant");
    }

    /** Returns the name of Hudi's class that selects the files. */
    private static String reader(BaseRelation relation) {
        Object reader = relation instanceof HadoopFsRelation
                ? ((HadoopFsRelation) relation).location() : relation;
        return reader.getClass().getSimpleName();
    }

    private LogicalPlan replaced(LogicalRelation whole, Claim claim) {
        CatalogTable table = Plans.table(whole);
        String name = Plans.name(table.identifier());
        Path base = new Path(table.location());
        checkKind(name, table);
        Selected selected = selected(name, claim.range(name), base, claim.readsCopy(name));
        BaseRelation relation = relation(table, base, selected);
        if (!isChanges(relation)) {
            throw notIncremental(name, relation);
        }
        checkColumns(name, whole, relation.schema());
        LogicalPlan changed = with(whole, relation);
        if (selected.isEmpty()) {
            return new Filter(Literal$.MODULE$.FalseLiteral(), changed);
        }
        if (selected.laterThan == null) {
            return changed;
        }
        Literal laterThan = Literal$.MODULE$.apply(selected.laterThan);
        return new Filter(new GreaterThan(commitTime(name, whole), laterThan), changed);
    }

    /** Refuses the table without its logs, as which HiveSync registers a merge-on-read table once more. */
    private static void checkKind(String name, CatalogTable table) {
        Option<String> withoutLogs = table.storage().properties().get(READ_OPTIMIZED);
        if (withoutLogs.isDefined() && Boolean.parseBoolean(withoutLogs.get())) {
            throw new NotIncrementalException(
                    name + " is the read-optimized view of its table. Read the changes of the table.");
        }
    }

    private Selected selected(String table, ChangeRange range, Path base, boolean isCopy) {
        Selected known = SELECTED.get(range);
        if (known != null) {
            return known;
        }
        try {
            HudiTimeline timeline =
                    HudiTimeline.read(base, session.sessionState().newHadoopConf());
            Selected selected = Selected.of(range, timeline, isCopy);
            SELECTED.put(range, selected);
            return selected;
        } catch (IOException error) {
            throw new NotIncrementalException(
                    "The timeline of " + table + " cannot be read: " + error.getMessage(), error);
        }
    }

    /** Hudi also reads the session's settings, so each setting of a range is given here. */
    private BaseRelation relation(CatalogTable table, Path base, Selected selected) {
        String[][] settings = {
            {"path", base.toString()},
            {"hoodie.datasource.query.type", "incremental"},
            {"hoodie.datasource.query.incremental.format", "latest_state"},
            {"hoodie.datasource.read.begin.instanttime", selected.begin},
            {"hoodie.datasource.read.end.instanttime", selected.end},
            {"hoodie.datasource.read.incr.filters", ""},
            {"hoodie.datasource.read.incr.path.glob", ""},
            {"hoodie.datasource.read.incr.skip_compact", "false"},
            {"hoodie.datasource.read.incr.skip_cluster", "false"},
            {"hoodie.datasource.read.incr.fallback.fulltablescan.enable", "" + selected.mayScan},
            // Commits behind a running one wait for it (table version 6).
            {"hoodie.read.timeline.holes.resolution.policy", "BLOCK"},
        };
        scala.collection.immutable.Map<String, String> options =
                withoutReadOptimized(table.storage().properties());
        for (String[] each : settings) {
            options = with(options, each[0], each[1]);
        }
        try {
            Class<?> type = DataSource.lookupDataSource("hudi", session.sessionState().conf());
            SchemaRelationProvider source =
                    (SchemaRelationProvider) type.getDeclaredConstructor().newInstance();
            return source.createRelation(session.sqlContext(), options, table.schema());
        } catch (ReflectiveOperationException error) {
            throw new NotIncrementalException("This Spark cannot read changes of Hudi tables.", error);
        }
    }

    @SuppressWarnings("unchecked")
    private static scala.collection.immutable.Map<String, String> with(
            scala.collection.immutable.Map<String, String> options, String key, String value) {
        return (scala.collection.immutable.Map<String, String>) (Object) options.updated(key, value);
    }

    /** Removes the property READ_OPTIMIZED of HiveSync's tables, which Hudi prefers to the query's type. */
    private static scala.collection.immutable.Map<String, String> withoutReadOptimized(
            scala.collection.immutable.Map<String, String> options) {
        scala.collection.immutable.Map<String, String> kept = Map$.MODULE$.empty();
        for (Iterator<Tuple2<String, String>> each = options.iterator(); each.hasNext(); ) {
            Tuple2<String, String> option = each.next();
            if (!option._1().equals(READ_OPTIMIZED)) {
                kept = with(kept, option._1(), option._2());
            }
        }
        return kept;
    }

    /** Returns the plan with another relation. Its other arguments differ between the versions of Spark. */
    private static LogicalPlan with(LogicalRelation whole, BaseRelation relation) {
        Object[] arguments = new Object[whole.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = i == 0 ? relation : whole.productElement(i);
        }
        return whole.makeCopy(arguments);
    }

    private static void checkColumns(String table, LogicalRelation whole, StructType columns) {
        for (Iterator<?> each = whole.output().iterator(); each.hasNext(); ) {
            Attribute column = (Attribute) each.next();
            if (!columns.getFieldIndex(column.name()).isDefined()
                    || !columns.apply(column.name()).dataType().sameType(column.dataType())) {
                throw new NotIncrementalException(
                        "The changes of " + table + " have no column " + column.name() + " of its type.");
            }
        }
    }

    private static Attribute commitTime(String table, LogicalRelation whole) {
        for (Iterator<?> each = whole.output().iterator(); each.hasNext(); ) {
            Attribute column = (Attribute) each.next();
            if (column.name().equals(COMMIT_TIME)) {
                return column;
            }
        }
        throw new NotIncrementalException(table + " has no column " + COMMIT_TIME + ".");
    }

    /** Whether the relation reads changed rows alone. */
    private static boolean isChanges(BaseRelation relation) {
        String name = reader(relation);
        // CDC: the statement calls hudi_table_changes and names the range itself.
        return name.contains("Incremental") || name.contains("CDC") || name.equals("EmptyRelation");
    }

    private static NotIncrementalException notIncremental(String table, Object reader) {
        return new NotIncrementalException("The session wants the changed rows of " + table
                + " alone, but Spark would read it by " + reader.getClass().getSimpleName() + ".");
    }

    /** For SparkSessionExtensions.injectCheckRule: refuses by the resolved plan, whatever the rule did. */
    public static final class Check extends AbstractFunction1<LogicalPlan, BoxedUnit> {
        private final SparkSession session;
        private final SessionClaims claims;

        public Check(SparkSession session) {
            this.session = session;
            claims = new SessionClaims(session);
        }

        @Override
        public BoxedUnit apply(LogicalPlan plan) {
            Claim claim = claims.current();
            if (claim != null && claim.hasRanges()) {
                check(plan, claim);
            }
            return BoxedUnit.UNIT;
        }

        private static boolean readsChanges(LogicalPlan plan) {
            return plan instanceof LogicalRelation && isChanges(((LogicalRelation) plan).relation());
        }

        /**
         * Refuses a table to which Hudi gives one of {@code names}. A relation of the catalog interface
         * has no {@code table}: it is refused without a look at Hudi's name.
         */
        private void checkHudiName(String name, CatalogTable table, Set<String> names) {
            if (table != null && table.storage().locationUri().isEmpty()) {
                return; // it has no files
            }
            Set<String> hudiNames;
            try {
                hudiNames = table == null ? names : HudiTimeline.tableNames(
                        new Path(table.location()), session.sessionState().newHadoopConf());
            } catch (IOException error) {
                throw new NotIncrementalException(
                        "Hudi's name of " + name + " cannot be read: " + error.getMessage(), error);
            }
            if (!Collections.disjoint(hudiNames, names)) {
                throw new NotIncrementalException("The settings hoodie." + String.join(", ", names)
                        + ".consume.* may mean " + name + ", which is " + String.join(" or ", hudiNames)
                        + " for Hudi. Set hoodie." + name
                        + ".consume.mode, to INCREMENTAL or to SNAPSHOT.");
            }
        }

        private void check(LogicalPlan plan, Claim claim) {
            CatalogTable table = Plans.table(plan);
            String name = table == null ? Plans.foreignName(plan) : Plans.name(table.identifier());
            if (name != null && claim.isIncremental(name)) {
                if (!readsChanges(plan)) {
                    boolean isRelation = plan instanceof LogicalRelation;
                    throw notIncremental(name, isRelation ? ((LogicalRelation) plan).relation() : plan);
                }
            } else if (name != null && !claim.hudiNamesRefused(name).isEmpty() && !readsChanges(plan)) {
                checkHudiName(name, table, claim.hudiNamesRefused(name));
            }
            Plans.forEachBelow(plan, each -> check(each, claim));
            Plans.forEachInside(plan, each -> check(each, claim));
        }
    }
}
