package causeway.guard;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A Spark session extension: refuses to write what belongs to another cluster.
 *
 * <p>Spark writes files before it calls the metastore, and often without a call, so the metastore
 * cannot protect them. Put this class in {@code spark.sql.extensions} and the server's cluster in
 * {@code spark.causeway.cluster}.
 */
public final class Guard extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectCheckRule(WriteCheck::new);
        return BoxedUnit.UNIT;
    }
}
