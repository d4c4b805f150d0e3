package causeway.guard.access;

import causeway.guard.claim.Claim;
import causeway.guard.claim.SessionClaims;
import causeway.guard.plans.Plans;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.Iterator;

/**
 * Refuses an optimised plan that still computes a denied column, or that reads a table which the statement
 * only writes by its decision, and of which the user may see a part. It is a strategy of the planner that
 * plans nothing: only then has Spark removed unused columns.
 */
public final class RestrictedScan extends SparkStrategy {
    private static final String DENIED = "[" + AccessException.CODE + "]";

    private final SessionClaims claims;

    public RestrictedScan(SparkSession session) {
        claims = new SessionClaims(session);
    }

    @Override
    public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
        // The planner calls the strategy with the whole plan first, and then with parts of it.
        Claim claim = plan instanceof ReturnAnswer ? claims.current() : null;
        if (claim != null && claim.restricts() && !RestrictedRead.isOfCache()) {
            check(plan, claim);
        }
        return scala.collection.immutable.List$.MODULE$.<SparkPlan>empty();
    }

    private static void check(LogicalPlan plan, Claim claim) {
        CatalogTable table = Plans.table(plan);
        String name = table == null ? Plans.foreignName(plan) : Plans.name(table.identifier());
        if (name != null && claim.isUnread(name)) {
            throw RestrictedRelations.unrestricted(plan);
        }
        for (Iterator<?> each = plan.expressions().iterator(); each.hasNext(); ) {
            checkDenied((Expression) each.next());
        }
        Plans.forEachBelow(plan, each -> check(each, claim));
    }

    /** Refuses an expression with the error that stands for a denied column. */
    private static void checkDenied(Expression expression) {
        if (expression instanceof RaiseError) {
            String message = message(expression);
            if (message != null) {
                throw AccessException.of(message);
            }
        }
        for (Iterator<Expression> each = expression.children().iterator(); each.hasNext(); ) {
            checkDenied(each.next());
        }
    }

    /** Returns the message of a denied column in the arguments of an error; null without one. */
    private static String message(Expression expression) {
        if (expression instanceof Literal) {
            String text = String.valueOf(((Literal) expression).value());
            return text.startsWith(DENIED) ? text : null;
        }
        for (Iterator<Expression> each = expression.children().iterator(); each.hasNext(); ) {
            String message = message(each.next());
            if (message != null) {
                return message;
            }
        }
        return null;
    }
}
