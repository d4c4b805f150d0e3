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
 * <p>The proxy sends it in the configuration overlay of ExecuteStatement. Spark ignores the overlay, but
 * its Thrift Server, which runs in this virtual machine, keeps it with the operation. The operation is
 * found by the id that Spark gives to the statement's jobs.
 */
public final class Claims {
    /** The key of the statement's id in the proxy's logs. */
    private static final String STATEMENT = "causeway.statement";
    static final String DESCRIPTION = "spark.job.description";
    private static final int MAX_ID_LENGTH = 64;
    private static final String SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2$";
    private static final ThreadLocal<CurrentClaim> CURRENT = new ThreadLocal<>();
    private static volatile Claims instance;

    private final Object manager; // the Thrift Server's operations; null if there is no known Thrift Server
    private Method operationsMethod;
    private Method statementIdMethod;
    private Method overlayMethod;

    private Claims(Object manager) {
        this.manager = manager;
    }

    /** Returns null if the statement has no claim, as those of clients that do not use the proxy. */
    public static Claim of(SparkSession session) {
        String id = session.sparkContext().getLocalProperty("spark.jobGroup.id");
        if (id == null) {
            return null;
        }
        CurrentClaim last = CURRENT.get();
        if (last == null || !last.id.equals(id)) {
            Map<?, ?> settings = server().find(id);
            if (settings != null) {
                describe(session.sparkContext(), (String) settings.get(STATEMENT));
            }
            last = new CurrentClaim(id, settings == null ? null : claim(session, settings));
            CURRENT.set(last);
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
        if (statement != null && statement.length() <= MAX_ID_LENGTH && text != null) {
            context.setLocalProperty(DESCRIPTION, "[" + statement + "] " + text);
        }
    }

    private static Claims server() {
        Claims server = instance;
        if (server == null) {
            server = lookUp();
            if (server.manager != null) {
                instance = server; // a server that is still starting is looked up again
            }
        }
        return server;
    }

    /** Finds the Thrift Server by its fields and methods, which are not public. */
    private static Claims lookUp() {
        try {
            Class<?> type = Class.forName(SERVER, true, Claims.class.getClassLoader());
            Object listener = call(type.getField("MODULE$").get(null), "listener");
            if (listener == null) {
                return new Claims(null);
            }
            Option<?> server = (Option<?>) field(listener, "server");
            Object sessions = call(field(server.get(), "cliService"), "getSessionManager");
            Claims claims = new Claims(call(sessions, "getOperationManager"));
            claims.operationsMethod = method(claims.manager.getClass(), "handleToOperation");
            return claims;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError none) {
            return new Claims(null);
        }
    }

    /** Returns the overlay of the statement whose jobs have that id; null if there is none. */
    private Map<?, ?> find(String id) {
        if (manager == null) {
            return null;
        }
        try {
            synchronized (manager) { // the lock by which the manager guards its map
                for (Object each : ((Map<?, ?>) operationsMethod.invoke(manager)).values()) {
                    if (!isStatement(each.getClass())) {
                        continue;
                    }
                    if (statementIdMethod == null) {
                        statementIdMethod = method(each.getClass(), "statementId");
                        overlayMethod = method(each.getClass(), "getConfOverlay");
                    }
                    if (id.equals(statementIdMethod.invoke(each))) {
                        return (Map<?, ?>) overlayMethod.invoke(each);
                    }
                }
            }
            return null;
        } catch (ReflectiveOperationException error) {
            return null;
        }
    }

    /** Whether {@code operation} is Spark's class of statements or extends it. */
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
                Method method = each.getDeclaredMethod(name);
                method.setAccessible(true);
                return method;
            } catch (NoSuchMethodException inherited) {
                continue;
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    private static Object field(Object target, String name) throws ReflectiveOperationException {
        for (Class<?> each = target.getClass(); each != null; each = each.getSuperclass()) {
            try {
                Field field = each.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(target);
            } catch (NoSuchFieldException inherited) {
                continue;
            }
        }
        throw new NoSuchFieldException(target.getClass() + "." + name);
    }

    /** The claim of the statement that a thread ran last, and the id of its jobs. */
    private static final class CurrentClaim {
        final String id;
        final Claim claim;

        CurrentClaim(String id, Claim claim) {
            this.id = id;
            this.claim = claim;
        }
    }
}
