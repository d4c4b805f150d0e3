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
 * Refuses an optimised plan that still computes a denied column, or that reads a table of which the
 * statement's user may read a part and which the statement was known to write only. It is a strategy
 * that plans nothing: Spark has dropped the columns that nothing needs then.
 */
public final class RestrictedScan extends SparkStrategy {
    private static final String DENIED = "[" + AccessException.CODE + "]";

    private final SessionClaims claims;

    public RestrictedScan(SparkSession session) {
        claims = new SessionClaims(session);
    }

    @Override
    public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
        // The planner begins with this, and goes on with parts of the same plan.
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

    private static String message(Expression expression) {
        if (expression instanceof Literal) {
            String text = String.valueOf(((Literal) expression).value());
            return text.startsWith(DENIED) ? text : null;
        }
        for (Iterator<Expression> each = expression.children().iterator(); each.hasNext(); ) {
            String found = message(each.next());
            if (found != null) {
                return found;
            }
        }
        return null;
    }
}
