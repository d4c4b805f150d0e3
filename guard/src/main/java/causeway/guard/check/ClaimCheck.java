package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.ClaimException;
import causeway.guard.claim.Claims;
import causeway.guard.claim.NotRunException;
import causeway.guard.claim.Refusals;
import causeway.guard.claim.Selection;
import causeway.guard.facts.TableFacts;
import causeway.guard.plans.Paths;
import causeway.guard.plans.Plans;
import causeway.guard.plans.V2Tables;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Compares an analysed plan with the claim of its statement before it runs: each relation, view and
 * path that it reads. {@link CommandCheck} compares commands, {@link PartitionCheck} partitions.
 *
 * <p>Commands run statements of their own, whose plans are compared with the same claim.
 */
public final class ClaimCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private final SparkSession session;
    private final String cluster;
    private final Freshness freshness;
    private final Paths paths;

    public ClaimCheck(SparkSession session) {
        this.session = session;
        SparkConf conf = session.sparkContext().getConf();
        cluster = conf.get("spark.causeway.cluster", "");
        freshness = new Freshness(cluster, conf.get("spark.causeway.default.cluster", cluster));
        paths = new Paths(session.sparkContext().hadoopConfiguration());
    }

    @Override
    public BoxedUnit apply(LogicalPlan plan) {
        Claim claim = cluster.isEmpty() ? null : Claims.of(session);
        if (claim != null) {
            if (claim.runsNothing()) {
                throw new NotRunException(NotRunException.PARSED);
            }
            try {
                check(plan, claim, false);
            } catch (ClaimException refused) {
                // Before it drops, replaces or uncaches a view Spark analyses the view's query, to
                // drop its cached rows. PartitionCheck refuses to read data in such a statement.
                boolean isOfView = !(plan instanceof Command) && claim.readsNoData();
                if (!isOfView && !isPart() && !isRefresh()) {
                    throw Refusals.reported(session, claim, refused);
                }
            }
        }
        return BoxedUnit.UNIT;
    }

    /**
     * Whether Spark checks a part of a plan separately: a sub-query or a view's query. Spark checks the
     * whole plan afterwards, and only there the part counts, since an unused query of WITH reads nothing.
     */
    private static boolean isPart() {
        for (StackTraceElement each : Thread.currentThread().getStackTrace()) {
            String method = each.getMethodName();
            if (method.equals("checkSubqueryExpression") || method.endsWith("$resolveViews")) {
                return true;
            }
            if (method.equals("executeAndCheck")) {
                return false;
            }
        }
        return false;
    }

    /**
     * Whether a command of Hudi refreshes Spark's list of files of a table that it has changed. Spark
     * analyses the table then, and reads none of its data.
     */
    private static boolean isRefresh() {
        for (StackTraceElement each : Thread.currentThread().getStackTrace()) {
            if (each.getMethodName().equals("refreshTable")
                    && each.getClassName().endsWith(".CatalogImpl")) {
                return true;
            }
        }
        return false;
    }

    /** `inView`: the plan is in a temporary view that the claim lists, so the claim lacks its folders. */
    private void check(LogicalPlan plan, Claim claim, boolean inView) {
        String name = plan.getClass().getSimpleName().replace("$", "");
        boolean isInView = inView;
        if (plan instanceof Command) {
            if (Commands.isExplain(name)) {
                claim.beginExplain();
                return;
            }
            if (Commands.isFree(name)) {
                return;
            }
            new CommandCheck(session, claim, paths).check(plan, name);
        } else if (claim.mode == Claim.Mode.RUN) {
            if (plan instanceof View) {
                Selection described = claim.read(Plans.name(((View) plan).desc().identifier()));
                if (described != null && described.isNone()) {
                    return;
                }
                checkView((View) plan, claim);
                isInView |= ((View) plan).isTempView();
            } else {
                checkRelation(plan, claim, isInView);
            }
        }
        boolean inViewBelow = isInView;
        if (plan instanceof WithCTE) {
            Plans.forEachUsed((WithCTE) plan, each -> check(each, claim, inViewBelow));
            return;
        }
        Plans.forEachBelow(plan, each -> check(each, claim, inViewBelow));
        Plans.forEachInside(plan, each -> check(each, claim, inViewBelow));
    }

    private void checkView(View view, Claim claim) {
        String name = Plans.name(view.desc().identifier());
        if (!claim.opens(name) && !(view.isTempView() && opensRenamed(view.desc(), claim))) {
            throw new ClaimException(ClaimException.NOT_READ, "Spark reads through "
                    + (view.isTempView() ? "the temporary view " : "the view ") + name
                    + ", which the decision did not know: " + claim.describe() + ".");
        }
    }

    /** Whether the claim lists the temporary view by a later name: its description keeps the first one. */
    private boolean opensRenamed(CatalogTable description, Claim claim) {
        for (String name : claim.opened()) {
            Option<TemporaryViewRelation> view = session.sessionState().catalog()
                    .getRawLocalOrGlobalTempView(Plans.temporaryParts(name));
            if (view.isDefined() && view.get().tableMeta().equals(description)) {
                return true;
            }
        }
        return false;
    }

    private void checkRelation(LogicalPlan plan, Claim claim, boolean inView) {
        CatalogTable table = Plans.table(plan);
        String foreign = table == null ? Plans.foreignName(plan) : null;
        if (table != null) {
            checkTable(table, claim);
        } else if (foreign != null) {
            checkSource(foreign, claim);
        } else if (plan instanceof LogicalRelation && !inView) {
            checkFolders((LogicalRelation) plan, claim);
        }
    }

    /** Checks a table of the catalog interface. Reads its facts, which Spark's relation lacks. */
    private void checkSource(String name, Claim claim) {
        Selection claimed = read(name, claim);
        if (!claimed.isNone() && claimed != Selection.WRITTEN) {
            CatalogTable table = V2Tables.metadata(session, name);
            if (table != null) {
                checkTable(table, claim);
            }
        }
    }

    private void checkTable(CatalogTable table, Claim claim) {
        if (claim.isDescription()) {
            return; // DESCRIBE analyses a view's query; PartitionCheck refuses to read data
        }
        String name = Plans.name(table.identifier());
        Selection claimed = read(name, claim);
        if (claimed.isNone() || claimed == Selection.WRITTEN) {
            return;
        }
        Map<String, String> facts = TableFacts.of(table);
        if (claimed.readsCopy() && !freshness.isSameWrite(facts, claimed)) {
            throw changed(name);
        }
        boolean whole = table.partitionColumnNames().isEmpty()
                || freshness.isUniform(facts);
        if (whole && !freshness.isReadable(facts, claim)) {
            throw changed(name);
        }
    }

    /** Returns the partitions that the claim allows to read. Throws ClaimException if it lacks the table. */
    static Selection read(String table, Claim claim) {
        Selection claimed = claim.read(table);
        if (claimed == null) {
            throw new ClaimException(ClaimException.NOT_READ, "Spark reads table " + table
                    + ", which the decision did not know: " + claim.describe() + ".");
        }
        return claimed;
    }

    /** Returns the refusal (CW363) of a table that changed after the decision. */
    static ClaimException changed(String table) {
        return new ClaimException(ClaimException.CHANGED, "Table " + table
                + " was written or placed differently after the decision for this statement.");
    }

    private void checkFolders(LogicalRelation relation, Claim claim) {
        List<String> folders = Plans.folders(relation);
        boolean claimsAny = !claim.pathsRead().isEmpty() || !claim.pathsWritten().isEmpty();
        if (folders == null) {
            if (claimsAny) {
                return;
            }
            throw new ClaimException(ClaimException.NOT_READ,
                    "Spark reads a source outside the metastore, which the decision did not know.");
        }
        for (String folder : folders) {
            if (!paths.isIn(folder, claim.pathsRead()) && !paths.isIn(folder, claim.pathsWritten())
                    && !isOfClaimedTable(folder, claim)) {
                throw new ClaimException(ClaimException.NOT_READ,
                        "Spark reads folder " + folder + ", which the decision did not know.");
            }
        }
    }

    private boolean isOfClaimedTable(String folder, Claim claim) {
        TableFolders folders = new TableFolders(session, claim, paths);
        return folders.has(folder, table -> checkTable(table, claim));
    }

    /** Returns the option `path` of a command; null without one. */
    static String pathOption(Map<String, String> options) {
        for (Map.Entry<String, String> each : options.entrySet()) {
            if (each.getKey().equalsIgnoreCase("path")) {
                return each.getValue();
            }
        }
        return null;
    }
}
