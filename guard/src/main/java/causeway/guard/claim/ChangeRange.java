package causeway.guard.claim;

import com.fasterxml.jackson.databind.JsonNode;

/** The commits of a Hudi table that the session's settings select. router/claim.py writes it. */
public final class ChangeRange {
    /** The range begins after this instant. */
    public final String start;

    /** The last instant of the range; null if it has no end. */
    public final String end;

    /** The largest number of commits; null if all commits of the range are read. */
    public final Integer commits;

    public ChangeRange(JsonNode json) {
        start = json.path("start").asText();
        end = json.hasNonNull("end") ? json.get("end").asText() : null;
        commits = json.hasNonNull("commits") ? json.get("commits").asInt() : null;
    }
}
