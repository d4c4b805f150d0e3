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

/** A dataset whose rows are packed in executors, where its plan collects in Spark's common way. */
final class PackedRows extends Dataset<Row> {
    private static final long serialVersionUID = 1;
    private static final String ACTION = "collect";

    private final transient ColumnType[] types;
    private final transient boolean java8Times;
    private final transient long memory;
    private final transient Consumer<PackedResult> collected;

    /** `memory` is that which all results of the server may take, in bytes. */
    PackedRows(Dataset<Row> rows, ColumnType[] types, long memory, Consumer<PackedResult> collected) {
        super(rows.queryExecution(), rows.encoder());
        this.types = types;
        java8Times = rows.sparkSession().sessionState().conf().datetimeJava8ApiEnabled();
        this.memory = memory;
        this.collected = collected;
    }

    /** No rows, when they are packed; else all, as Spark collects them. */
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
        // As Dataset.withAction does.
        collected.accept(SQLExecution$.MODULE$.withNewExecutionId(
                queryExecution(), new Some<>(ACTION), function(() -> QueryExecution$.MODULE$
                        .withInternalError("The \"" + ACTION + "\" action failed.", packing))));
        return new Row[0];
    }

    private PackedResult packed(SparkPlan plan) {
        ResultMemory taken = new ResultMemory(memory);
        try {
            RowPacker packer = new RowPacker(types, schema(), taken.id());
            return new PackedResult(types, new TimeTexts(java8Times),
                    plan.execute().toJavaRDD().mapPartitions(packer).collect(), taken);
        } catch (Throwable failure) {
            RuntimeException refusal = taken.refusal(); // before tasks that still run are refused, too
            taken.close();
            if (refusal != null) {
                throw refusal;
            }
            throw failure;
        }
    }

    /** False for LIMIT, commands, local rows: plans that collect in a way of their own. */
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
