package causeway.guard.storage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.Function;

/** The file systems of all clusters, to find the cluster of a location. */
public final class ClusterFolders {
    private final SortedMap<String, List<Location>> roots = new TreeMap<>();
    private final BiPredicate<Location, Location> sameServer;

    /** Compares hosts by their names alone. */
    public ClusterFolders(Map<String, String> filesystems) {
        this(filesystems, Collections::singletonList, (one, other) -> false);
    }

    /**
     * {@code filesystems} has each cluster's FileSystem. {@code spellings} returns all names of such a
     * location. {@code sameServer} says whether two hosts of different names are the same.
     */
    ClusterFolders(
            Map<String, String> filesystems,
            Function<Location, List<Location>> spellings,
            BiPredicate<Location, Location> sameServer) {
        filesystems.forEach((name, root) -> roots.put(name, spellings.apply(Location.of(root))));
        this.sameServer = sameServer;
    }

    /** Returns the clusters to which a reading of {@code location} belongs or may belong, sorted. */
    public List<String> clustersOf(String location) {
        List<String> clusters = new ArrayList<>();
        for (String name : roots.keySet()) {
            for (Location reading : Location.readings(location)) {
                if (!clusters.contains(name) && owners(reading).contains(name)) {
                    clusters.add(name);
                }
            }
        }
        return clusters;
    }

    /** Whether a cluster other than {@code own} has a FileSystem. */
    boolean hasOthers(String own) {
        return roots.keySet().stream().anyMatch(name -> !name.equals(own));
    }

    /**
     * Returns a cluster other than {@code own} to which the location belongs or may belong; null if none.
     * Clusters with the same FileSystem may both write it.
     */
    String foreignCluster(Location location, String own) {
        for (String name : owners(location)) {
            if (!name.equals(own) && !roots.get(name).equals(roots.get(own))) {
                return name;
            }
        }
        return null;
    }

    /**
     * Returns the clusters that have the location. If its file system is certainly that of a FileSystem, it
     * belongs to the deepest FileSystem there. Otherwise it belongs to each one that may contain it.
     */
    private List<String> owners(Location location) {
        boolean certain = false;
        for (List<Location> names : roots.values()) {
            certain |= names.stream().anyMatch(location::shares);
        }
        List<String> clusters = new ArrayList<>();
        int depth = 0;
        for (Map.Entry<String, List<Location>> each : roots.entrySet()) {
            for (Location root : each.getValue()) {
                if (!isInside(location, root, certain) || root.depth() < depth) {
                    continue;
                }
                if (certain && root.depth() > depth) {
                    depth = root.depth();
                    clusters.clear();
                }
                if (!clusters.contains(each.getKey())) {
                    clusters.add(each.getKey());
                }
            }
        }
        return clusters;
    }

    private boolean isInside(Location location, Location root, boolean certain) {
        if (!location.isBelow(root)) {
            return false;
        }
        if (certain) {
            return location.shares(root);
        }
        return location.mayShare(root)
                || (location.hasHost() && root.hasHost() && sameServer.test(location, root));
    }
}
