package causeway.guard.claim;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.execution.command.ResetCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.internal.SQLConf$;
import scala.runtime.AbstractFunction2;

/**
 * A parser that ends a statement after its parse if its claim allows no more, and refuses a statement that
 * Spark would analyse without the guard's rules. It calls the parser of Spark or of another extension. It
 * is a dynamic proxy, since the parser's interface differs between the versions of Spark.
 */
public final class ClaimParser implements InvocationHandler {
    /** Settings of Spark 4 for an analyzer that runs no rules of extensions. */
    private static final String[] SINGLE_PASS = {"enabled", "enabledTentatively", "dualRunWithLegacy"};

    private final SparkSession session;
    private final ParserInterface parser;

    private ClaimParser(SparkSession session, ParserInterface parser) {
        this.session = session;
        this.parser = parser;
    }

    static ParserInterface of(SparkSession session, ParserInterface parser) {
        return (ParserInterface) Proxy.newProxyInstance(
                ClaimParser.class.getClassLoader(), new Class<?>[] {ParserInterface.class},
                new ClaimParser(session, parser));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        // parsePlan, and parsePlanWithParameters of Spark 4.
        boolean isStatement = method.getName().startsWith("parsePlan");
        Claim claim = isStatement ? Claims.of(session) : null;
        if (claim != null && claim.mode == Claim.Mode.PROBE) {
            throw new NotRunException(NotRunException.CHECKED + Claim.VERSION);
        }
        Object parsed;
        try {
            parsed = method.invoke(parser, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
        if (isStatement && !(parsed instanceof SetCommand || parsed instanceof ResetCommand)) {
            checkAnalyzer();
        }
        if (claim != null && claim.mode == Claim.Mode.PARSE) {
            throw new NotRunException(NotRunException.PARSED);
        }
        return parsed;
    }

    private static void checkAnalyzer() {
        for (String each : SINGLE_PASS) {
            String name = "spark.sql.analyzer.singlePassResolver." + each;
            if (Boolean.parseBoolean(SQLConf$.MODULE$.get().getConfString(name, "false"))) {
                throw ClaimException.unknownCommand(
                        "Spark analyses no statement by the guard's rules with " + name);
            }
        }
    }

    /** For SparkSessionExtensions.injectParser. */
    public static final class Builder
            extends AbstractFunction2<SparkSession, ParserInterface, ParserInterface> {
        @Override
        public ParserInterface apply(SparkSession session, ParserInterface parser) {
            boolean isGuarded = session.sparkContext().getConf().contains("spark.causeway.cluster");
            return isGuarded ? of(session, parser) : parser;
        }
    }
}
