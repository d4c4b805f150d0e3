package causeway.guard.access;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.immutable.List$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractPartialFunction;

/**
 * The condition and the masks of one table, resolved for the columns of a relation.
 *
 * <p>Spark parses and resolves them apart from the statement, by the settings of the server: no setting,
 * variable or function of the session changes their meaning. Without ANSI mode a value that cannot be
 * computed is NULL, and a row for which the condition cannot be computed is left out.
 */
final class RuleExpressions {
    private static final String ANSI = "spark.sql.ansi.enabled";

    private final List<Attribute> columns;
    private final Expression condition; // null: all rows
    private final Map<Integer, Expression> values = new HashMap<>(); // of masked and denied columns, by index

    private RuleExpressions(List<Attribute> columns, Expression condition) {
        this.columns = columns;
        this.condition = condition;
    }

    /** Resolves the rules for a relation with this output. Throws AccessException if one cannot be kept. */
    static RuleExpressions of(
            Restriction restriction, CatalogTable table, List<Attribute> output, SparkSession session) {
        return SQLConf$.MODULE$.withExistingConf(settings(session), new AbstractFunction0<RuleExpressions>() {
            @Override
            public RuleExpressions apply() {
                return new Resolver(restriction, table, output, session).all();
            }
        });
    }

    /** Returns the settings of the server, without those of the session. */
    private static SQLConf settings(SparkSession session) {
        SQLConf settings = new SQLConf();
        for (Tuple2<String, String> each : session.sparkContext().getConf().getAll()) {
            settings.setConfString(each._1(), each._2());
        }
        settings.setConfString(ANSI, "false");
        return settings;
    }

    /** Returns the condition on rows of a relation with this output; null for all rows. */
    Expression condition(List<Attribute> output) {
        return condition == null ? null : rewritten(condition, output);
    }

    /** Returns the value that the user sees of each column of a relation with this output. */
    List<Expression> values(List<Attribute> output) {
        List<Expression> userValues = new ArrayList<>();
        for (int i = 0; i < output.size(); i++) {
            Expression value = values.get(i);
            userValues.add(value == null ? output.get(i) : rewritten(value, output));
        }
        return userValues;
    }

    /** Returns the expression over the columns of a relation with this output. */
    private Expression rewritten(Expression expression, List<Attribute> output) {
        Map<ExprId, Attribute> replacements = new HashMap<>();
        for (int i = 0; i < output.size(); i++) {
            replacements.put(columns.get(i).exprId(), output.get(i));
        }
        return (Expression) expression.transformUp(new AttributeReplacer(replacements));
    }

    private static final class AttributeReplacer extends AbstractPartialFunction<Expression, Expression> {
        private final Map<ExprId, Attribute> replacements;

        AttributeReplacer(Map<ExprId, Attribute> replacements) {
            this.replacements = replacements;
        }

        @Override
        public boolean isDefinedAt(Expression each) {
            return each instanceof Attribute && replacements.containsKey(((Attribute) each).exprId());
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A1 extends Expression, B1> B1 applyOrElse(A1 each, Function1<A1, B1> otherwise) {
            return isDefinedAt(each)
                    ? (B1) replacements.get(((Attribute) each).exprId()) : otherwise.apply(each);
        }
    }

    /** Resolves the rules of one table. */
    private static final class Resolver {
        private final Restriction restriction;
        private final CatalogTable table;
        private final SparkSession session;
        private final List<Attribute> columns = new ArrayList<>();
        private final LogicalPlan source;

        Resolver(Restriction restriction, CatalogTable table, List<Attribute> output,
                SparkSession session) {
            this.restriction = restriction;
            this.table = table;
            this.session = session;
            output.forEach(each -> columns.add(each.newInstance()));
            source = relation(columns);
        }

        RuleExpressions all() {
            Restriction.Expression filter = restriction.filter;
            RuleExpressions expressions =
                    new RuleExpressions(columns, filter == null ? null : condition(filter));
            checkColumns();
            for (int i = 0; i < columns.size(); i++) {
                String name = columns.get(i).name().toLowerCase(Locale.ROOT);
                if (restriction.denied.containsKey(name)) {
                    expressions.values.put(i, cast(denied(restriction.denied.get(name)), i));
                } else if (restriction.masks.containsKey(name)) {
                    expressions.values.put(i, mask(restriction.masks.get(name), i));
                } else if (restriction.changesColumns() && HudiColumns.holdKeys(name)) {
                    expressions.values.put(i, cast(Literal$.MODULE$.apply(null), i));
                }
            }
            return expressions;
        }

        /** Refuses a relation that lacks a masked or denied column: it may have it by another name. */
        private void checkColumns() {
            for (String each : table.schema().fieldNames()) {
                String name = each.toLowerCase(Locale.ROOT);
                if (restriction.changes(name) && columns.stream().noneMatch(
                        column -> column.name().equalsIgnoreCase(name))) {
                    throw new AccessException("The column " + name + " of " + table.identifier()
                            .unquotedString() + ", which a rule masks or denies, is not among the columns"
                            + " that Spark reads.");
                }
            }
        }

        private Expression condition(Restriction.Expression rule) {
            LogicalPlan plan = analysed(rule, new Filter(parsed(rule), source));
            if (!(plan instanceof Filter)
                    || !((Filter) plan).condition().dataType().equals(DataTypes.BooleanType)) {
                throw refused(rule, "is no condition");
            }
            Expression condition = checked(rule, ((Filter) plan).condition());
            checkNoChar(rule, condition);
            return condition;
        }

        private Expression mask(Restriction.Expression rule, int index) {
            String name = columns.get(index).name();
            NamedExpression value = new Alias(parsed(rule), name, NamedExpression$.MODULE$.newExprId(),
                    List$.MODULE$.<String>empty(), Option.<Metadata>empty(), List$.MODULE$.<String>empty());
            LogicalPlan plan = analysed(rule, new Project(list(value), source));
            if (!(plan instanceof Project) || !(((Project) plan).projectList().head() instanceof Alias)) {
                throw refused(rule, "is no value");
            }
            Alias alias = (Alias) ((Project) plan).projectList().head();
            Expression masked = cast(checked(rule, alias.child()), index);
            if (!masked.resolved()) {
                throw refused(rule, "is no value of the type of " + name);
            }
            return masked;
        }

        private Expression parsed(Restriction.Expression rule) {
            Expression parsed;
            try {
                parsed = CatalystSqlParser$.MODULE$.parseExpression(rule.sql);
            } catch (Exception error) {
                throw refused(rule, "is not understood: " + error.getMessage());
            }
            String own = BuiltInFunctions.firstOther(parsed, session);
            if (own != null) {
                throw refused(rule, "calls " + own + ", which is no function of Spark's own");
            }
            return parsed;
        }

        private LogicalPlan analysed(Restriction.Expression rule, LogicalPlan plan) {
            LogicalPlan resolved;
            try {
                resolved = session.sessionState().analyzer().execute(plan);
            } catch (Exception error) {
                throw refused(rule, "is not understood: " + error.getMessage());
            }
            if (!resolved.resolved()) {
                throw refused(rule, "is not understood: it names what the table does not have");
            }
            return resolved;
        }

        private Expression checked(Restriction.Expression rule, Expression expression) {
            Expression withUser = (Expression) expression.transformUp(new CurrentUser(restriction.user));
            String fault = BuiltInFunctions.fault(withUser, columns);
            if (fault != null) {
                throw refused(rule, fault);
            }
            return withUser;
        }

        /** Refuses CHAR columns: Spark compares them with their padding, which it adds in other rules. */
        private void checkNoChar(Restriction.Expression rule, Expression condition) {
            for (Iterator<Attribute> each = condition.references().iterator(); each.hasNext(); ) {
                String name = each.next().name();
                Option<Object> index = table.schema().getFieldIndex(name);
                if (index.isDefined() && BuiltInFunctions.isChar(
                        table.schema().apply((int) index.get()).metadata())) {
                    throw refused(rule, "uses the column " + name + ", whose type is CHAR");
                }
            }
        }

        private Expression cast(Expression value, int index) {
            Attribute column = columns.get(index);
            if (value.dataType().sameType(column.dataType())) {
                return value;
            }
            Option<String> zone = Option.apply(SQLConf$.MODULE$.get().sessionLocalTimeZone());
            return new Cast(value, column.dataType(), zone);
        }

        private static Expression denied(String message) {
            return new RaiseError(Literal$.MODULE$.apply(message));
        }

        private AccessException refused(Restriction.Expression rule, String reason) {
            return new AccessException("The rule '" + rule.rule + "' cannot be kept for "
                    + table.identifier().unquotedString() + ", since its expression " + reason + ".");
        }

        /** Returns a relation without rows. Its constructor differs between the versions of Spark. */
        private static LogicalPlan relation(List<Attribute> columns) {
            Constructor<?> constructor = LocalRelation.class.getConstructors()[0];
            Object[] arguments = new Object[constructor.getParameterCount()];
            for (int i = 0; i < arguments.length; i++) {
                Class<?> type = constructor.getParameterTypes()[i];
                arguments[i] = i == 0 ? list(columns.toArray(new Attribute[0]))
                        : type == boolean.class ? (Object) false
                        : type == Option.class ? Option.empty() : List$.MODULE$.empty();
            }
            try {
                return (LogicalPlan) constructor.newInstance(arguments);
            } catch (ReflectiveOperationException error) {
                throw new AccessException("This Spark cannot resolve the expressions of rules.", error);
            }
        }
    }

    /** Replaces current_user() by the statement's user, which may differ from the user of Spark's process. */
    private static final class CurrentUser extends AbstractPartialFunction<Expression, Expression> {
        private final String user;

        CurrentUser(String user) {
            this.user = user;
        }

        @Override
        public boolean isDefinedAt(Expression each) {
            return each.getClass().getSimpleName().equals("CurrentUser");
        }

        @Override
        @SuppressWarnings("unchecked")
        public <A1 extends Expression, B1> B1 applyOrElse(A1 each, Function1<A1, B1> otherwise) {
            return isDefinedAt(each) ? (B1) Literal$.MODULE$.apply(user) : otherwise.apply(each);
        }
    }

    @SafeVarargs
    static <T> scala.collection.immutable.List<T> list(T... values) {
        return JavaConverters.asScalaBuffer(java.util.Arrays.asList(values)).toList();
    }
}
