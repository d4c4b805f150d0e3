package causeway.guard.claim;

import org.apache.spark.sql.SparkSession;

/** The claims of a session's statements. A Spark without {@code spark.causeway.cluster} has none. */
public final class SessionClaims {
    private final SparkSession session;
    private final boolean isGuarded;

    public SessionClaims(SparkSession session) {
        this.session = session;
        isGuarded = session.sparkContext().getConf().contains("spark.causeway.cluster");
    }

    /** Returns the claim of the statement that the current thread runs; null without one. */
    public Claim current() {
        return isGuarded ? Claims.of(session) : null;
    }
}
