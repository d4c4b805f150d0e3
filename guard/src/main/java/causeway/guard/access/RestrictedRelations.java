package causeway.guard.access;

import causeway.guard.claim.Claim;
import causeway.guard.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.List$;

/**
 * Relations of tables that rules restrict, and the plans that replace them:
 * {@code Project(masks, Filter(condition, relation))}.
 *
 * <p>With masks the relation has new attributes, and the projection has those to which the plan above
 * refers. So no attribute has two meanings: Spark does not apply facts about the values of a raw column to
 * the masked one.
 */
final class RestrictedRelations {
    private static final String[] METADATA = {"__metadata_col", "__file_source_metadata_col"};

    private final SparkSession session;
    private final Claim claim;

    RestrictedRelations(SparkSession session, Claim claim) {
        this.session = session;
        this.claim = claim;
    }

    /** Returns the restriction of the table of which the plan is a relation; null without one. */
    Restriction of(LogicalPlan plan) {
        CatalogTable table = Plans.table(plan);
        String name = table == null ? Plans.foreignName(plan) : Plans.name(table.identifier());
        return name == null ? null : claim.restriction(name);
    }

    /** Whether the plan is a relation of the catalog interface for a table that the statement only writes. */
    boolean isForeignAndUnread(LogicalPlan plan) {
        String name = Plans.foreignName(plan);
        return name != null && claim.isUnread(name);
    }

    /** Returns the plan of the part that the user may see. Throws AccessException if there is none. */
    LogicalPlan restricted(LogicalPlan relation, Restriction restriction) {
        if (!isKnown(relation)) {
            throw unrestricted(relation);
        }
        List<Attribute> output = output(relation);
        LogicalPlan source = restriction.changesColumns()
                ? ((MultiInstanceRelation) relation).newInstance() : relation;
        RuleExpressions rules = rules(relation, restriction);
        List<Attribute> sourceOutput = output(source);
        Expression condition = rules.condition(sourceOutput);
        LogicalPlan rows = condition == null ? source : new Filter(condition, source);
        if (!restriction.changesColumns()) {
            return rows;
        }
        List<Expression> values = rules.values(sourceOutput);
        List<NamedExpression> columns = new ArrayList<>();
        for (int i = 0; i < output.size(); i++) {
            Attribute column = output.get(i);
            columns.add(new Alias(values.get(i), column.name(), column.exprId(),
                    List$.MODULE$.<String>empty(), Option.apply(column.metadata()),
                    List$.MODULE$.<String>empty()));
        }
        return new Project(RuleExpressions.list(columns.toArray(new NamedExpression[0])), rows);
    }

    /** Whether the plan equals the one that `restricted` returns for the relation in it. */
    boolean isRestricted(LogicalPlan plan) {
        LogicalPlan rows = plan instanceof Project ? ((Project) plan).child() : plan;
        LogicalPlan relation = rows instanceof Filter ? ((Filter) rows).child() : rows;
        Restriction restriction = relation == plan || !isKnown(relation) ? null : of(relation);
        if (restriction == null || restriction.changesColumns() != plan instanceof Project
                || (restriction.filter != null) != rows instanceof Filter) {
            return false;
        }
        List<Attribute> sourceOutput = output(relation);
        RuleExpressions rules = rules(relation, restriction);
        Expression condition = rules.condition(sourceOutput);
        if (condition != null && !((Filter) rows).condition().semanticEquals(condition)) {
            return false;
        }
        return !restriction.changesColumns() || areEqual((Project) plan, rules.values(sourceOutput));
    }

    private static boolean areEqual(Project columns, List<Expression> values) {
        if (columns.projectList().length() != values.size()) {
            return false;
        }
        int place = 0;
        for (Iterator<NamedExpression> each = columns.projectList().iterator(); each.hasNext(); place++) {
            NamedExpression column = each.next();
            if (!(column instanceof Alias)
                    || !((Alias) column).child().semanticEquals(values.get(place))) {
                return false;
            }
        }
        return true;
    }

    private RuleExpressions rules(LogicalPlan relation, Restriction restriction) {
        List<Attribute> output = output(relation);
        StructType own = Plans.table(relation).schema(); // Hudi marks columns of its tables, too
        StructType columns = new StructType();
        for (Attribute each : output) {
            for (String key : METADATA) {
                if (each.metadata().contains(key) && own.getFieldIndex(each.name()).isEmpty()) {
                    throw new AccessException("Spark's column " + each.name() + " cannot be read of "
                            + Plans.name(Plans.table(relation).identifier()) + ", of which rules show a part.");
                }
            }
            columns = columns.add(new StructField(each.name(), each.dataType(), true, each.metadata()));
        }
        RuleExpressions known = restriction.resolved(columns);
        return known != null ? known : restriction.keep(columns,
                RuleExpressions.of(restriction, Plans.table(relation), output, session));
    }

    private static boolean isKnown(LogicalPlan plan) {
        return plan instanceof HiveTableRelation
                || plan instanceof LogicalRelation && Plans.table(plan) != null;
    }

    static AccessException unrestricted(LogicalPlan plan) {
        CatalogTable table = Plans.table(plan);
        String name = table == null ? Plans.foreignName(plan) : Plans.name(table.identifier());
        return new AccessException("Rules show only a part of " + name + ", and Spark would read all of it by "
                + plan.getClass().getSimpleName() + ".");
    }

    private static List<Attribute> output(LogicalPlan plan) {
        List<Attribute> attributes = new ArrayList<>();
        for (Iterator<Attribute> each = plan.output().iterator(); each.hasNext(); ) {
            attributes.add(each.next());
        }
        return attributes;
    }
}
