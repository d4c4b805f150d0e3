package causeway.guard.claim;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * The claim of the statement that the current thread runs.
 *
 * <p>A client sends it in the configuration overlay of ExecuteStatement. Spark ignores the overlay,
 * but the Thrift Server keeps it with the operation, which lives in this JVM. The operation is found
 * by the id that Spark gives the statement's jobs.
 */
public final class Claims {
    /** The proxy's id of the statement, the same as in its logs. */
    private static final String STATEMENT = "causeway.statement";
    static final String DESCRIPTION = "spark.job.description";
    private static final int LONGEST_ID = 64;
    private static final String SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2$";
    private static final ThreadLocal<Running> RUNNING = new ThreadLocal<>();
    private static volatile Claims instance;

    private final Object manager; // null where this JVM has no Thrift Server that we know
    private Method operations;
    private Method statementId;
    private Method overlay;

    private Claims(Object manager) {
        this.manager = manager;
    }

    /** Null when the statement makes no claim, as those of clients that come directly. */
    public static Claim of(SparkSession session) {
        String id = session.sparkContext().getLocalProperty("spark.jobGroup.id");
        if (id == null) {
            return null;
        }
        Running last = RUNNING.get();
        if (last == null || !last.id.equals(id)) {
            Map<?, ?> settings = server().find(id);
            if (settings != null) {
                describe(session.sparkContext(), (String) settings.get(STATEMENT));
            }
            last = new Running(id, settings == null ? null : claim(session, settings));
            RUNNING.set(last);
        }
        return last.claim;
    }

    private static Claim claim(SparkSession session, Map<?, ?> settings) {
        String text = (String) settings.get(Claim.KEY);
        try {
            return text == null ? null : Claim.parse(text);
        } catch (ClaimException unreadable) {
            throw Refusals.reported(session, null, unreadable);
        }
    }

    /** Puts the proxy's id before the text that Spark's UI shows for the statement's jobs. */
    private static void describe(SparkContext context, String statement) {
        String text = context.getLocalProperty(DESCRIPTION);
        if (statement != null && statement.length() <= LONGEST_ID && text != null) {
            context.setLocalProperty(DESCRIPTION, "[" + statement + "] " + text);
        }
    }

    private static Claims server() {
        Claims found = instance;
        if (found == null) {
            found = lookUp();
            if (found.manager != null) {
                instance = found; // else the server may still be starting
            }
        }
        return found;
    }

    private static Claims lookUp() {
        try {
            Class<?> type = Class.forName(SERVER, true, Claims.class.getClassLoader());
            Object listener = call(type.getField("MODULE$").get(null), "listener");
            if (listener == null) {
                return new Claims(null);
            }
            Option<?> server = (Option<?>) field(listener, "server");
            Object sessions = call(field(server.get(), "cliService"), "getSessionManager");
            Claims found = new Claims(call(sessions, "getOperationManager"));
            found.operations = method(found.manager.getClass(), "handleToOperation");
            return found;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError none) {
            return new Claims(null);
        }
    }

    /** The overlay of the statement with that id, or null. */
    private Map<?, ?> find(String id) {
        if (manager == null) {
            return null;
        }
        try {
            synchronized (manager) { // which guards its map so
                for (Object each : ((Map<?, ?>) operations.invoke(manager)).values()) {
                    if (!isStatement(each.getClass())) {
                        continue;
                    }
                    if (statementId == null) {
                        statementId = method(each.getClass(), "statementId");
                        overlay = method(each.getClass(), "getConfOverlay");
                    }
                    if (id.equals(statementId.invoke(each))) {
                        return (Map<?, ?>) overlay.invoke(each);
                    }
                }
            }
            return null;
        } catch (ReflectiveOperationException error) {
            return null;
        }
    }

    /** Whether it is Spark's class of statements or one that extends it. */
    private static boolean isStatement(Class<?> operation) {
        return operation != null && (operation.getSimpleName().equals("SparkExecuteStatementOperation")
                || isStatement(operation.getSuperclass()));
    }

    private static Object call(Object target, String name) throws ReflectiveOperationException {
        return method(target.getClass(), name).invoke(target);
    }

    private static Method method(Class<?> type, String name) throws NoSuchMethodException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            try {
                Method found = each.getDeclaredMethod(name);
                found.setAccessible(true);
                return found;
            } catch (NoSuchMethodException inherited) {
                continue;
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    private static Object field(Object target, String name) throws ReflectiveOperationException {
        for (Class<?> each = target.getClass(); each != null; each = each.getSuperclass()) {
            try {
                Field found = each.getDeclaredField(name);
                found.setAccessible(true);
                return found.get(target);
            } catch (NoSuchFieldException inherited) {
                continue;
            }
        }
        throw new NoSuchFieldException(target.getClass() + "." + name);
    }

    private static final class Running {
        final String id;
        final Claim claim;

        Running(String id, Claim claim) {
            this.id = id;
            this.claim = claim;
        }
    }
}
