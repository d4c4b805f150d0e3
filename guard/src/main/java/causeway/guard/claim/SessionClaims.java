package causeway.guard.claim;

import org.apache.spark.sql.SparkSession;

/** The claims of a session's statements. There are none in a Spark that is no cluster of Causeway. */
public final class SessionClaims {
    private final SparkSession session;
    private final boolean isGuarded;

    public SessionClaims(SparkSession session) {
        this.session = session;
        isGuarded = session.sparkContext().getConf().contains("spark.causeway.cluster");
    }

    /** The claim of the statement that the current thread runs, or null. */
    public Claim current() {
        return isGuarded ? Claims.of(session) : null;
    }
}
