package causeway.hudi;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The metadata of a commit: the files that it wrote and the file groups that it replaced, by partition. */
final class CommitMetadata {
    /** A file that a commit wrote. */
    static final class Written {
        final String group;
        final String name;

        Written(String group, String name) {
            this.group = group;
            this.name = name;
        }
    }

    final Map<String, List<Written>> written = new HashMap<>();
    final Map<String, Set<String>> replaced = new HashMap<>();

    /** Reads the record of a completed commit. Throws HudiReadException with the name {@code file}. */
    CommitMetadata(JsonNode record, String file) throws HudiReadException {
        Iterator<Map.Entry<String, JsonNode>> partitions = record.path("partitionToWriteStats").fields();
        while (partitions.hasNext()) {
            Map.Entry<String, JsonNode> each = partitions.next();
            List<Written> files = new ArrayList<>();
            for (JsonNode stat : each.getValue()) {
                if (!stat.path("fileId").isTextual()) {
                    throw new HudiReadException(
                            HudiReadException.DAMAGED, "The commit " + file + " has a file without its group.");
                }
                String path = stat.path("path").asText("");
                if (stat.path("path").isTextual() && !path.isEmpty()) {
                    files.add(new Written(
                            stat.get("fileId").asText(), path.substring(path.lastIndexOf('/') + 1)));
                }
            }
            written.put(each.getKey(), files);
        }
        Iterator<Map.Entry<String, JsonNode>> groups = record.path("partitionToReplaceFileIds").fields();
        while (groups.hasNext()) {
            Map.Entry<String, JsonNode> each = groups.next();
            Set<String> ids = new HashSet<>();
            each.getValue().forEach(id -> ids.add(id.asText()));
            replaced.put(each.getKey(), ids);
        }
    }

    /** Whether the commit replaced a file group of a partition. */
    boolean replaces(String partition, String group) {
        Set<String> groups = replaced.get(partition);
        return groups != null && groups.contains(group);
    }
}
