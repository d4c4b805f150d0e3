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
 * The guard's session extension, which adds its rules to each session of a Spark.
 *
 * <p>Put this class in {@code spark.sql.extensions} and the server's cluster in
 * {@code spark.causeway.cluster}. docs/guide/guard.md is the page for operators. The packages:
 *
 * <pre>
 * writes       which writes are allowed, and which copies they end: its package-info has the theory
 * files        the Java agent, which checks and reports writes that no plan names
 * storage      the cluster to which a location belongs
 * claim        the proxy's decision for a statement; docs/internals/claim.md
 * check        Spark's plans compared with the claim
 * access       rules of the operator, kept in plans
 * incremental  changed rows of Hudi tables
 * results      large results in columns, of Spark 3.5; docs/internals/large_results.md
 * facts        causeway. parameters of tables and partitions
 * plans        tables, folders and sub-plans in Spark's plans
 * views        connections to the metastore view
 * </pre>
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
        extensions.injectCheckRule(CopyInvalidation::new); // last, so that no refused write is reported
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
