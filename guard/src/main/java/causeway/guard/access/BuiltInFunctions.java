package causeway.guard.access;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.types.Metadata;
import scala.Option;
import scala.collection.Iterator;

/** Checks the expressions of rules: they may use functions of Spark's own, over the columns of one row. */
final class BuiltInFunctions {
    private static final Pattern CHAR = Pattern.compile("\\bchar\\(", Pattern.CASE_INSENSITIVE);
    private static final String RAW_TYPE = "__CHAR_VARCHAR_TYPE_STRING";

    private BuiltInFunctions() {}

    /** Returns the name of the first function that may not be Spark's own in this session; null without one. */
    static String firstOther(Expression parsed, SparkSession session) {
        if (parsed instanceof UnresolvedFunction) {
            UnresolvedFunction function = (UnresolvedFunction) parsed;
            String name = String.valueOf(function.nameParts().last());
            if (function.nameParts().length() != 1 || !isBuiltIn(name, session)) {
                return function.nameParts().mkString(".");
            }
        }
        for (Iterator<Expression> each = parsed.children().iterator(); each.hasNext(); ) {
            String other = firstOther(each.next(), session);
            if (other != null) {
                return other;
            }
        }
        return null;
    }

    /** Whether the name is that of a function of Spark's own, which no temporary function replaces. */
    private static boolean isBuiltIn(String name, SparkSession session) {
        FunctionIdentifier identifier = builtIn(name);
        FunctionRegistry known = session.sessionState().functionRegistry();
        Option<ExpressionInfo> own = FunctionRegistry$.MODULE$.builtin().lookupFunction(identifier);
        return own.isDefined() && known.lookupFunction(identifier).equals(own)
                && !session.sessionState().catalog().isTemporaryFunction(new FunctionIdentifier(name));
    }

    /** Returns the registry's identifier of a function of Spark's own. Spark 4 computes it differently. */
    private static FunctionIdentifier builtIn(String name) {
        try {
            return (FunctionIdentifier) FunctionRegistry$.class
                    .getMethod("builtinFunctionIdentifier", String.class)
                    .invoke(FunctionRegistry$.MODULE$, name);
        } catch (ReflectiveOperationException older) {
            return new FunctionIdentifier(name);
        }
    }

    /** Returns why a rule must not have the resolved expression; null if it may. */
    static String fault(Expression expression, List<Attribute> columns) {
        Set<ExprId> known = new HashSet<>();
        columns.forEach(each -> known.add(each.exprId()));
        return fault(expression, known);
    }

    private static String fault(Expression expression, Set<ExprId> known) {
        String name = expression.getClass().getSimpleName();
        if (expression instanceof PlanExpression) {
            return "has a sub-query";
        }
        if (expression instanceof AggregateFunction || expression instanceof WindowExpression
                || expression instanceof Generator) {
            return "is not computed from one row";
        }
        if (expression instanceof Attribute && !known.contains(((Attribute) expression).exprId())) {
            return "uses what is no column of the table";
        }
        if (name.equals("VariableReference") || name.startsWith("InputFile")) {
            return "uses " + expression.prettyName() + ", which is no column of the table";
        }
        boolean isSparks = expression.getClass().getName().startsWith("org.apache.spark.sql.catalyst.");
        if (!isSparks || name.endsWith("UDF") || name.endsWith("UDAF") || name.startsWith("SQLFunction")
                || name.startsWith("SQLScalar")) {
            return "calls " + name + ", which is no function of Spark's own";
        }
        if (!expression.deterministic()) {
            return "has other values each time";
        }
        for (Iterator<Expression> each = expression.children().iterator(); each.hasNext(); ) {
            String fault = fault(each.next(), known);
            if (fault != null) {
                return fault;
            }
        }
        return null;
    }

    /** Whether the metadata of a column declares the type CHAR. */
    static boolean isChar(Metadata column) {
        return column.contains(RAW_TYPE) && CHAR.matcher(column.getString(RAW_TYPE)).find();
    }
}
