package causeway.guard.results;

import java.util.function.Consumer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import scala.Function0;
import scala.Some;
import scala.runtime.AbstractFunction0;

/** A dataset that packs its rows in executors, unless its plan collects them in a way of its own. */
final class PackedRows extends Dataset<Row> {
    private static final long serialVersionUID = 1;
    private static final String ACTION = "collect";

    private final transient ColumnType[] types;
    private final transient boolean java8Times;
    private final transient long memory;
    private final transient Consumer<PackedResult> onCollected;

    /**
     * `memory` is the limit for all results of the server, in bytes. `onCollected` receives the packed
     * result.
     */
    PackedRows(Dataset<Row> rows, ColumnType[] types, long memory, Consumer<PackedResult> onCollected) {
        super(rows.queryExecution(), rows.encoder());
        this.types = types;
        java8Times = rows.sparkSession().sessionState().conf().datetimeJava8ApiEnabled();
        this.memory = memory;
        this.onCollected = onCollected;
    }

    /** Returns no rows if they are packed. Otherwise returns all, as Spark collects them. */
    @Override
    public Object collect() {
        SparkPlan plan = queryExecution().executedPlan();
        if (!isCollectedFromTasks(plan)) {
            return super.collect();
        }
        Function0<PackedResult> packing = function(() -> {
            plan.resetMetrics();
            return packed(plan);
        });
        // Does the same as Dataset.withAction, which is not public.
        onCollected.accept(SQLExecution$.MODULE$.withNewExecutionId(
                queryExecution(), new Some<>(ACTION), function(() -> QueryExecution$.MODULE$
                        .withInternalError("The \"" + ACTION + "\" action failed.", packing))));
        return new Row[0];
    }

    private PackedResult packed(SparkPlan plan) {
        ResultMemory resultMemory = new ResultMemory(memory);
        try {
            RowPacker packer = new RowPacker(types, schema(), resultMemory.id());
            return new PackedResult(types, new TimeTexts(java8Times),
                    plan.execute().toJavaRDD().mapPartitions(packer).collect(), resultMemory);
        } catch (Throwable failure) {
            // Read before close(), after which tasks that still run are refused, too.
            RuntimeException refusal = resultMemory.refusal();
            resultMemory.close();
            if (refusal != null) {
                throw refusal;
            }
            throw failure;
        }
    }

    /** Whether the plan collects in Spark's common way. LIMIT, commands and local rows do not. */
    private static boolean isCollectedFromTasks(SparkPlan plan) {
        SparkPlan root = plan instanceof AdaptiveSparkPlanExec
                ? ((AdaptiveSparkPlanExec) plan).initialPlan() : plan;
        try {
            return root.getClass().getMethod("executeCollect").getDeclaringClass() == SparkPlan.class;
        } catch (NoSuchMethodException none) {
            return false;
        }
    }

    private static <T> Function0<T> function(java.util.function.Supplier<T> code) {
        return new AbstractFunction0<T>() {
            @Override
            public T apply() {
                return code.get();
            }
        };
    }
}
