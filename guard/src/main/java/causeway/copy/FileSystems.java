package causeway.copy;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.deploy.SparkHadoopUtil;

/** File systems by URI, each opened once with the Hadoop settings of its endpoint (FA-R10). */
final class FileSystems {
    private static final String ANY = "*";

    private final Map<String, Map<String, String>> endpoints;
    private final Map<String, FileStore> open = new HashMap<>();

    /** {@code endpoints}: Hadoop settings by authority, with "*" for all other authorities. */
    FileSystems(Map<String, Map<String, String>> endpoints) {
        this.endpoints = endpoints;
    }

    /** Returns the file system of a path. One without a scheme is of Hadoop's default file system. */
    synchronized FileStore of(Path path) throws IOException {
        Path full = path.toUri().getScheme() == null
                ? path.makeQualified(FileSystem.getDefaultUri(settings("")), null)
                : path;
        String scheme = full.toUri().getScheme();
        String authority = full.toUri().getAuthority() == null ? "" : full.toUri().getAuthority();
        String key = scheme + "://" + authority;
        FileStore store = open.get(key);
        if (store == null) {
            store = scheme.equals("file") ? new LocalFileStore() : hadoop(full, authority);
            open.put(key, store);
        }
        return store;
    }

    private FileStore hadoop(Path path, String authority) throws IOException {
        Configuration settings = settings(authority);
        // Hadoop's cache of open file systems does not distinguish their settings.
        boolean own = endpoints.containsKey(authority) || endpoints.containsKey(ANY);
        FileSystem system = own
                ? FileSystem.newInstance(path.toUri(), settings)
                : path.getFileSystem(settings);
        return KerberosFileStore.of(new HadoopFileStore(system), system.getUri().toString(), settings);
    }

    private Configuration settings(String authority) {
        Configuration settings = new Configuration(SparkHadoopUtil.get().conf());
        Map<String, String> own = endpoints.getOrDefault(authority, endpoints.get(ANY));
        if (own != null) {
            own.forEach(settings::set);
        }
        return settings;
    }
}
