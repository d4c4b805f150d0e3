package causeway.guard.results;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;

/**
 * The context of one statement of the Thrift Server, whose dataset packs its rows when it can.
 *
 * <p>The Thrift Server calls {@code sql} once for a statement, and {@code collect} of what it returns.
 */
final class PackingContext extends SQLContext {
    private static final long serialVersionUID = 1;
    private static final String PACKS = "spark.causeway.results.columnar";

    private transient volatile PackedResult result;

    PackingContext(SparkSession session) {
        super(session);
    }

    /** The packed result; null until it is collected, and when the rows are not packed. */
    PackedResult result() {
        return result;
    }

    @Override
    public Dataset<Row> sql(String text) {
        Dataset<Row> rows = super.sql(text);
        if (!Boolean.parseBoolean(getConf(PACKS, "false"))) {
            return rows;
        }
        ColumnType[] types = ColumnType.of(rows.schema());
        return types == null ? rows : new PackedRows(rows, types, packed -> result = packed);
    }
}
