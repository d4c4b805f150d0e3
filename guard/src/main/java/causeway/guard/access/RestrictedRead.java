package causeway.guard.access;

import causeway.guard.claim.Claim;
import causeway.guard.claim.SessionClaims;
import causeway.guard.plans.Plans;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Product;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Replaces each relation of a table that the statement's claim restricts, by a plan of the part that the
 * user may see ({@link RestrictedRelations}). {@link Check} refuses a plan with a relation that was not
 * replaced.
 *
 * <p>Spark applies the rule to sub-queries and the queries of WITH and of views, as to any plan. For
 * SparkSessionExtensions.injectPostHocResolutionRule: relations have their last form then.
 */
public final class RestrictedRead extends Rule<LogicalPlan> {
    private static final String CACHE_MANAGER = "org.apache.spark.sql.execution.CacheManager";

    private final SparkSession session;
    private final SessionClaims claims;

    public RestrictedRead(SparkSession session) {
        this.session = session;
        claims = new SessionClaims(session);
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        Claim claim = claims.current();
        return claim == null || !claim.restricts() || isOfCache()
                ? plan : new RelationReplacer(new RestrictedRelations(session, claim)).apply(plan);
    }

    /**
     * Whether Spark plans cached queries of any user again, or looks for those that read a table which the
     * statement has changed. Such plans stay as they are: their rows are not shown.
     */
    static boolean isOfCache() {
        for (StackTraceElement each : Thread.currentThread().getStackTrace()) {
            String name = each.getClassName();
            if (name.startsWith(CACHE_MANAGER) || each.getMethodName().equals("refreshTable")
                    && (name.endsWith(".CatalogImpl") || name.endsWith(".Catalog"))) {
                return true;
            }
        }
        return false;
    }

    private static final class RelationReplacer extends AbstractFunction1<LogicalPlan, LogicalPlan> {
        private final RestrictedRelations relations;

        RelationReplacer(RestrictedRelations relations) {
            this.relations = relations;
        }

        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            if (relations.isRestricted(plan)) {
                return plan;
            }
            Restriction restriction = relations.of(plan);
            return restriction != null ? relations.restricted(plan, restriction)
                    : inside((LogicalPlan) plan.mapChildren(this));
        }

        /** Replaces relations in the queries that a command has as arguments and runs itself. */
        private LogicalPlan inside(LogicalPlan plan) {
            if (plan.innerChildren().isEmpty() || !(plan instanceof Product)) {
                return plan;
            }
            Object[] arguments = new Object[plan.productArity()];
            boolean isChanged = false;
            for (int i = 0; i < arguments.length; i++) {
                Object argument = plan.productElement(i);
                arguments[i] = argument;
                if (argument instanceof LogicalPlan && isInner(plan, argument)) {
                    arguments[i] = apply((LogicalPlan) argument);
                    isChanged |= arguments[i] != argument;
                }
            }
            return isChanged ? (LogicalPlan) plan.makeCopy(arguments) : plan;
        }

        private static boolean isInner(LogicalPlan plan, Object argument) {
            for (Iterator<? extends QueryPlan<?>> all = plan.innerChildren().iterator(); all.hasNext(); ) {
                if (all.next() == argument) {
                    return true;
                }
            }
            return false;
        }
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
            if (claim != null && claim.restricts() && !isOfCache()) {
                RestrictedRelations relations = new RestrictedRelations(session, claim);
                LogicalPlan relation = unrestrictedRelation(plan, relations);
                if (relation != null) {
                    throw RestrictedRelations.unrestricted(relation);
                }
            }
            return BoxedUnit.UNIT;
        }

        /** Returns the first relation that is not restricted as it has to be; null without one. */
        private static LogicalPlan unrestrictedRelation(LogicalPlan plan, RestrictedRelations relations) {
            if (relations.isRestricted(plan)) {
                return null;
            }
            if (relations.of(plan) != null || relations.isForeignAndUnread(plan)) {
                return plan;
            }
            AtomicReference<LogicalPlan> first = new AtomicReference<>();
            Plans.forEachBelow(plan, each -> first.compareAndSet(null, unrestrictedRelation(each, relations)));
            Plans.forEachInside(plan, each -> first.compareAndSet(null, unrestrictedRelation(each, relations)));
            return first.get();
        }
    }
}
