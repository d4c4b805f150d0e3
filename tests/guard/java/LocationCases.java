import causeway.guard.storage.ClusterFolders;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Reads lines {@code NAME<tab>FILESYSTEM}, an empty line, and then locations, each after a {@code =}.
 * Writes each location's clusters, separated by commas. After a line {@code --} other file systems follow.
 */
public final class LocationCases {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, String> filesystems = new HashMap<>();
        ClusterFolders folders = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("--")) {
                filesystems.clear();
                folders = null;
            } else if (folders != null) {
                System.out.println(String.join(",", folders.clustersOf(line.substring(1))));
            } else if (line.isEmpty()) {
                folders = new ClusterFolders(filesystems);
            } else {
                filesystems.put(line.split("\t")[0], line.split("\t")[1]);
            }
        }
    }
}
