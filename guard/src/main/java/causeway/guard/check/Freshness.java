package causeway.guard.check;

import causeway.guard.claim.Claim;
import causeway.guard.claim.Selection;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;

/**
 * Decides whether a cluster may read an object, by the object's {@code causeway.} parameters in the
 * metastore. conf/placement.py defines them.
 */
final class Freshness {
    private static final String PRIMARY = "causeway.primary";
    private static final String WRITE = "causeway.write";
    private static final String FACTS = "causeway.facts";
    private static final String COPY = "causeway.copy.";
    private static final String OPEN = "causeway.open.";
    private static final String NEVER = "0";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String cluster;
    private final String defaultCluster;

    Freshness(String cluster, String defaultCluster) {
        this.cluster = cluster;
        this.defaultCluster = defaultCluster;
    }

    /** Whether the cluster is the table's primary or has a fresh copy of the table as a whole. */
    boolean isReadable(Map<String, String> table, Claim claim) {
        return table.getOrDefault(PRIMARY, defaultCluster).equals(cluster)
                || table.getOrDefault(WRITE, NEVER).equals(copyVersion(table))
                && !isWritten(table, claim, null);
    }

    /**
     * Whether the cluster is the partition's primary or has a fresh copy of it, alone or of the table as a
     * whole. {@code name} ({@code ds=1}) is the partition's name in marks of running writes.
     */
    boolean isReadable(
            Map<String, String> partition, Map<String, String> table, String name, Claim claim) {
        String owner = table.getOrDefault(PRIMARY, defaultCluster);
        if (partition.getOrDefault(PRIMARY, owner).equals(cluster)) {
            return true;
        }
        if (copyVersion(partition) == null && isUniform(table)) {
            return isReadable(table, claim);
        }
        String version = table.getOrDefault(WRITE, NEVER) + "/" + partition.getOrDefault(WRITE, NEVER);
        return version.equals(copyVersion(partition)) && !isWritten(table, claim, name);
    }

    /** Whether no partition of the table has facts of its own. */
    boolean isUniform(Map<String, String> table) {
        return table.getOrDefault("causeway.partitions", "").equals("uniform");
    }

    /** Whether the table's write id is the one by which the decision found its copy fresh. */
    boolean isSameWrite(Map<String, String> table, Selection claimed) {
        return table.getOrDefault(WRITE, NEVER).equals(claimed.write);
    }

    /** Whether no partition can have changed since the decision. */
    boolean isSameFacts(Map<String, String> table, Selection claimed, Claim claim) {
        return table.getOrDefault(FACTS, NEVER).equals(claimed.facts) && !isMarked(table, claim);
    }

    /** Whether the table has a mark of another statement's running write. */
    private boolean isMarked(Map<String, String> table, Claim claim) {
        return table.keySet().stream().anyMatch(
                key -> key.startsWith(OPEN) && !claim.hasMark(key.substring(OPEN.length())));
    }

    /** Whether another statement's running write covers the partition (null: the whole table). */
    private boolean isWritten(Map<String, String> table, Claim claim, String partition) {
        for (Map.Entry<String, String> entry : table.entrySet()) {
            if (entry.getKey().startsWith(OPEN)
                    && !claim.hasMark(entry.getKey().substring(OPEN.length()))
                    && covers(entry.getValue(), partition)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a mark covers the partition, or for null any part of the table. */
    private static boolean covers(String mark, String partition) {
        try {
            JsonNode names = JSON.readTree(mark).path("partitions");
            if (partition == null || !names.isArray()) {
                return true;
            }
            for (JsonNode each : names) {
                if (each.asText().equals(partition)) {
                    return true;
                }
            }
            return false;
        } catch (IOException unreadable) {
            return true;
        }
    }

    /** Returns the version of the cluster's copy; null without a readable one. */
    private String copyVersion(Map<String, String> object) {
        try {
            String copy = object.get(COPY + cluster);
            return copy == null ? null : JSON.readTree(copy).path("of").asText(null);
        } catch (IOException unreadable) {
            return null;
        }
    }
}
