package causeway.guard;

import causeway.guard.access.RestrictedRead;
import causeway.guard.access.RestrictedScan;
import causeway.guard.check.ClaimCheck;
import causeway.guard.check.PartitionCheck;
import causeway.guard.claim.ClaimParser;
import causeway.guard.files.StorageAgent;
import causeway.guard.incremental.IncrementalRead;
import causeway.guard.storage.ServerStorage;
import causeway.guard.writes.CopyInvalidation;
import causeway.guard.writes.WriteCheck;
import org.apache.spark.sql.SparkSessionExtensions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A Spark session extension: refuses writes of objects that belong to another cluster.
 *
 * <p>Spark writes files before it calls the metastore, and often without a call, so the metastore
 * cannot protect them. Put this class in {@code spark.sql.extensions} and the server's cluster in
 * {@code spark.causeway.cluster}.
 */
public final class Guard extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    private static final Logger LOG = LoggerFactory.getLogger(Guard.class);

    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectCheckRule(WriteCheck::new);
        extensions.injectCheckRule(ClaimCheck::new);
        extensions.injectResolutionRule(IncrementalRead::new);
        extensions.injectCheckRule(IncrementalRead.Check::new);
        extensions.injectPostHocResolutionRule(RestrictedRead::new);
        extensions.injectCheckRule(RestrictedRead.Check::new);
        extensions.injectCheckRule(CopyInvalidation::new); // after the checks that refuse
        extensions.injectPlannerStrategy(RestrictedScan::new);
        extensions.injectPlannerStrategy(PartitionCheck::new);
        extensions.injectParser(new ClaimParser.Builder());
        extensions.injectPostHocResolutionRule(CopyInvalidation.BeforeCheck::new);
        extensions.injectPreCBORule(CopyInvalidation.AfterCommand::new);
        ServerStorage storage = ServerStorage.current();
        if (storage != null && storage.protects() && !StorageAgent.isActive()) {
            LOG.warn("The file systems of other clusters are not protected from writes: "
                    + "start the process with -javaagent:causeway-guard.jar");
        }
        return BoxedUnit.UNIT;
    }
}
