package causeway.guard;

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
 * What this process may write, by its Spark configuration: the settings of the server, which no
 * session can change, and which executors have from their driver.
 */
final class ServerStorage {
    static final String CLUSTER = "spark.causeway.cluster";
    static final String FILESYSTEM = "spark.causeway.filesystem.";

    private static volatile ServerStorage current;

    private final SparkConf conf;
    private final String cluster;
    private final ClusterFolders folders;
    private final Configuration hadoop;
    private final List<Location> scratch = new ArrayList<>();

    private ServerStorage(SparkConf conf) {
        this.conf = conf;
        cluster = conf.get(CLUSTER, "");
        hadoop = SparkHadoopUtil.get().newConfiguration(conf);
        Map<String, String> filesystems = new HashMap<>();
        for (Tuple2<String, String> pair : conf.getAllWithPrefix(FILESYSTEM)) {
            filesystems.put(pair._1, pair._2);
        }
        addScratch(hadoop.get("hive.exec.scratchdir", "/tmp/hive"));
        addScratch(conf.get("spark.eventLog.dir", ""));
        folders = new ClusterFolders(filesystems, this::spellings, ServerStorage::sameAddress);
    }

    private void addScratch(String folder) {
        if (!folder.isEmpty()) {
            URI uri = new Path(folder).toUri();
            URI system = uri.getScheme() == null ? FileSystem.getDefaultUri(hadoop) : uri;
            scratch.add(Location.of(system.getScheme(), system.getAuthority(), uri.getPath()));
        }
    }

    static ServerStorage of(SparkConf conf) {
        return new ServerStorage(conf);
    }

    /** That of the running Spark; null before it has begun. The last one counts when it has ended. */
    static ServerStorage current() {
        SparkEnv running = SparkEnv.get();
        ServerStorage known = current;
        if (running != null && (known == null || known.conf != running.conf())) {
            known = of(running.conf());
            current = known;
        }
        return known;
    }

    String cluster() {
        return cluster;
    }

    /** Hadoop's configuration of the process, with hive-site.xml. */
    Configuration hadoop() {
        return hadoop;
    }

    /** Whether Spark and Hive keep files of their own there: no table lies in such a folder. */
    boolean isScratch(Location location) {
        return scratch.stream().anyMatch(location::isInside);
    }

    /** Whether there are other clusters' file systems to protect. */
    boolean protects() {
        return !cluster.isEmpty() && folders.hasOthers(cluster);
    }

    /** Another cluster that the location belongs, or may belong, to; null if none. */
    String foreignCluster(Location location) {
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

    /** The same for a text, in each of its readings. */
    String foreignCluster(String text) {
        for (Location reading : Location.readings(text)) {
            String owner = foreignCluster(reading);
            if (owner != null) {
                return owner;
            }
        }
        return null;
    }

    /** A location, and where its name is one of several name nodes, the location at each. */
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

    /** Whether two hosts have an address in common; the resolver remembers answers. */
    private static boolean sameAddress(Location one, Location other) {
        try {
            List<InetAddress> found = Arrays.asList(InetAddress.getAllByName(one.host()));
            for (InetAddress each : InetAddress.getAllByName(other.host())) {
                if (found.contains(each)) {
                    return true;
                }
            }
        } catch (UnknownHostException unreachable) {
            return false; // nothing can be written there
        }
        return false;
    }
}
