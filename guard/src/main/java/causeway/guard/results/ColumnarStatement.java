package causeway.guard.results;

import java.util.Map;
import org.apache.hive.service.cli.FetchOrientation;
import org.apache.hive.service.cli.OperationState;
import org.apache.hive.service.cli.session.HiveSession;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;
import org.apache.hive.service.rpc.thrift.TRowSet;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.hive.thriftserver.SparkExecuteStatementOperation;
import scala.runtime.AbstractFunction0;

/**
 * A statement of the Thrift Server that sends packed columns if its rows were packed.
 *
 * <p>Spark's own statement collects Row objects in the server, and makes columns of them when a client
 * fetches. Here {@link RowPacker} makes the bytes of columns in executors, and a fetch copies them.
 * {@link causeway.guard.StatementHook} replaces Spark's class by this one.
 */
public final class ColumnarStatement extends SparkExecuteStatementOperation {
    private final SQLContext context;

    /** Has the parameters of the constructor that StatementHook replaces. */
    public ColumnarStatement(SQLContext context, HiveSession session, String statement,
            Map<String, String> overlay, boolean runsInBackground, long timeout) {
        this(overlay, context(context, session), session, statement, runsInBackground, timeout);
    }

    private ColumnarStatement(Map<String, String> overlay, SQLContext context, HiveSession session,
            String statement, boolean runsInBackground, long timeout) {
        super(context, session, statement, overlay, runsInBackground, timeout);
        this.context = context;
    }

    @Override
    public TRowSet getNextRowSet(FetchOrientation order, long most) {
        PackedResult packed = context instanceof PackingContext
                ? ((PackingContext) context).result() : null;
        if (packed == null || !isFetched(order)) {
            return super.getNextRowSet(order, most); // also raises the errors of a wrong state or order
        }
        setHasResultSet(true);
        return withLocalProperties(new AbstractFunction0<TRowSet>() {
            @Override
            public TRowSet apply() {
                return packed.fetch(order, most);
            }
        });
    }

    @Override
    public void close() {
        super.close();
        if (context instanceof PackingContext) {
            ((PackingContext) context).close();
        }
    }

    private boolean isFetched(FetchOrientation order) {
        return getStatus().getState() == OperationState.FINISHED
                && (order == FetchOrientation.FETCH_NEXT || order == FetchOrientation.FETCH_PRIOR
                        || order == FetchOrientation.FETCH_FIRST);
    }

    /** Returns a context that packs, except for clients of protocols before 6, which receive rows. */
    private static SQLContext context(SQLContext context, HiveSession session) {
        boolean columns = session.getProtocolVersion().getValue()
                >= TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6.getValue();
        return columns ? new PackingContext(context.sparkSession()) : context;
    }
}
