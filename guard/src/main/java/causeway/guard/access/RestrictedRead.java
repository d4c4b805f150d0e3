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
 * Puts, in each plan that Spark has resolved, what the user may see in the place of each relation of a
 * table that the statement's claim restricts. {@link Check} refuses a plan in which such a relation
 * stands alone.
 *
 * <p>Spark resolves sub-queries, queries of WITH and of views like any plan, so that this rule sees them.
 * For SparkSessionExtensions.injectPostHocResolutionRule: relations have their last form then.
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
                ? plan : new Replacing(new RestrictedRelations(session, claim)).apply(plan);
    }

    /**
     * Whether Spark plans cached queries of any user again, or looks for those that read a table which the
     * statement has changed. They stay as they are: nothing of them is shown.
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

    private static final class Replacing extends AbstractFunction1<LogicalPlan, LogicalPlan> {
        private final RestrictedRelations relations;

        Replacing(RestrictedRelations relations) {
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

        /** The same in the queries that a command holds and runs by itself. */
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

    /** For SparkSessionExtensions.injectCheckRule: Spark's own plan is the judge. */
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
                LogicalPlan alone = alone(plan, relations);
                if (alone != null) {
                    throw RestrictedRelations.unrestricted(alone);
                }
            }
            return BoxedUnit.UNIT;
        }

        /** Returns the first relation that is not restricted as it has to be; null without one. */
        private static LogicalPlan alone(LogicalPlan plan, RestrictedRelations relations) {
            if (relations.isRestricted(plan)) {
                return null;
            }
            if (relations.of(plan) != null || relations.isForeignAndUnread(plan)) {
                return plan;
            }
            AtomicReference<LogicalPlan> found = new AtomicReference<>();
            Plans.forEachBelow(plan, each -> found.compareAndSet(null, alone(each, relations)));
            Plans.forEachInside(plan, each -> found.compareAndSet(null, alone(each, relations)));
            return found.get();
        }
    }
}
