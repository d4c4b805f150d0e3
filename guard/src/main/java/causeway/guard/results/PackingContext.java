package causeway.guard.results;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;

/**
 * The context of one statement of the Thrift Server, which makes the statement's dataset pack its rows.
 *
 * <p>The Thrift Server calls {@code sql} once for a statement, and then {@code collect} of the dataset.
 */
final class PackingContext extends SQLContext implements AutoCloseable {
    private static final long serialVersionUID = 1;
    private static final String PACKS = "spark.causeway.results.columnar";
    private static final String MEMORY = "spark.causeway.results.memory";

    private transient PackedResult result;
    private transient boolean isClosed;

    PackingContext(SparkSession session) {
        super(session);
    }

    /** Returns the packed result; null until it is collected, and if the rows are not packed. */
    synchronized PackedResult result() {
        return result;
    }

    /** Frees the memory of the result, also of one that is still being collected. */
    @Override
    public synchronized void close() {
        isClosed = true;
        if (result != null) {
            result.close();
        }
    }

    private synchronized void keep(PackedResult packed) {
        result = packed;
        if (isClosed) {
            packed.close();
        }
    }

    @Override
    public Dataset<Row> sql(String text) {
        Dataset<Row> rows = super.sql(text);
        SparkConf server = SparkEnv.get().conf();
        if (!Boolean.parseBoolean(getConf(PACKS, Boolean.toString(executorsPack(server))))) {
            return rows;
        }
        ColumnType[] types = ColumnType.of(rows.schema());
        return types == null ? rows : new PackedRows(rows, types, memory(server), this::keep);
    }

    /** Whether tasks can pack: in the server itself, or in executors with an agent, which brings the jar. */
    private static boolean executorsPack(SparkConf server) {
        return server.get("spark.master", "").startsWith("local")
                || server.get("spark.executor.extraJavaOptions", "").contains("-javaagent:");
    }

    /** Returns the limit for all results of this server, in bytes. */
    private static long memory(SparkConf server) {
        double share = server.getDouble(MEMORY, 0.5);
        return share == 0 ? Long.MAX_VALUE : (long) (Runtime.getRuntime().maxMemory() * share);
    }
}
