package causeway.guard.storage;

import causeway.guard.views.ViewSettings;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;
import scala.Tuple2;

/**
 * The file systems that this process may write, by its Spark configuration. No session can change that
 * configuration, and executors get it from their driver.
 */
public final class ServerStorage {
    public static final String CLUSTER = "spark.causeway.cluster";
    static final String FILESYSTEM = "spark.causeway.filesystem.";

    private static volatile ServerStorage current;

    private final SparkConf conf;
    private final String cluster;
    private final ClusterFolders folders;
    private final Configuration hadoop;
    private final ViewSettings views;
    private final List<Location> scratchFolders = new ArrayList<>();

    private ServerStorage(SparkConf conf) {
        this.conf = conf;
        cluster = conf.get(CLUSTER, "");
        hadoop = SparkHadoopUtil.get().newConfiguration(conf);
        views = ViewSettings.of(hadoop);
        Map<String, String> filesystems = new HashMap<>();
        for (Tuple2<String, String> pair : conf.getAllWithPrefix(FILESYSTEM)) {
            filesystems.put(pair._1, pair._2);
        }
        addScratch(hadoop.get("hive.exec.scratchdir", "/tmp/hive"));
        addScratch(conf.get("spark.eventLog.dir", ""));
        folders = new ClusterFolders(filesystems, this::spellings, ServerStorage::sameAddress);
    }

    /** Adds a folder; a path without a scheme is one of the default file system. */
    private void addScratch(String folder) {
        if (!folder.isEmpty()) {
            URI uri = new Path(folder).toUri();
            URI system = uri.getScheme() == null ? FileSystem.getDefaultUri(hadoop) : uri;
            scratchFolders.add(Location.of(system.getScheme(), system.getAuthority(), uri.getPath()));
        }
    }

    /** Returns the storage of the running Spark, or of the last one; null before the first has started. */
    public static ServerStorage current() {
        SparkEnv running = SparkEnv.get();
        ServerStorage storage = current;
        if (running != null && (storage == null || storage.conf != running.conf())) {
            storage = new ServerStorage(running.conf());
            current = storage;
        }
        return storage;
    }

    public String cluster() {
        return cluster;
    }

    /** Returns the process's configuration of Hadoop, with hive-site.xml. */
    public Configuration hadoop() {
        return hadoop;
    }

    /** Returns the metastore's views by that configuration. */
    public ViewSettings views() {
        return views;
    }

    /** Whether the location is in Hive's scratch folder or Spark's event log, where no table is. */
    public boolean isScratch(Location location) {
        return scratchFolders.stream().anyMatch(location::isInside);
    }

    /** Whether there are other clusters' file systems to protect. */
    public boolean protects() {
        return !cluster.isEmpty() && folders.hasOthers(cluster);
    }

    /** Returns another cluster to which the location belongs or may belong; null if none. */
    public String foreignCluster(Location location) {
        if (cluster.isEmpty()) {
            return null;
        }
        for (Location each : spellings(location)) {
            String owner = folders.foreignCluster(each, cluster);
            if (owner != null) {
                return owner;
            }
        }
        return null;
    }

    /** Returns another cluster to which a reading of {@code text} belongs or may belong; null if none. */
    public String foreignCluster(String text) {
        for (Location reading : Location.readings(text)) {
            String owner = foreignCluster(reading);
            if (owner != null) {
                return owner;
            }
        }
        return null;
    }

    /** Returns the location; if its host is a name service of HDFS, also the location at each name node. */
    private List<Location> spellings(Location location) {
        List<Location> all = new ArrayList<>();
        all.add(location);
        if (location.hasHost()) {
            for (String service : hadoop.getTrimmedStrings("dfs.nameservices")) {
                if (service.equalsIgnoreCase(location.host())) {
                    addNodes(service, location, all);
                }
            }
        }
        return all;
    }

    private void addNodes(String service, Location location, List<Location> all) {
        for (String node : hadoop.getTrimmedStrings("dfs.ha.namenodes." + service)) {
            for (String kind : Arrays.asList("rpc", "http", "https")) {
                String address = hadoop.get(
                        "dfs.namenode." + kind + "-address." + service + "." + node);
                if (address != null) {
                    all.add(location.at(address));
                }
            }
        }
    }

    /** Whether two hosts have an address in common. The resolver caches addresses. */
    private static boolean sameAddress(Location one, Location other) {
        try {
            List<InetAddress> addresses = Arrays.asList(InetAddress.getAllByName(one.host()));
            for (InetAddress each : InetAddress.getAllByName(other.host())) {
                if (addresses.contains(each)) {
                    return true;
                }
            }
        } catch (UnknownHostException unreachable) {
            return false; // nothing can be written at an unknown host
        }
        return false;
    }
}
