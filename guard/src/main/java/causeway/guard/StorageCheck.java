package causeway.guard;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FilterFs;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.AccessControlException;

/**
 * Refuses changes in the file systems of other clusters. {@link StorageAgent} has every file system
 * call it.
 */
public final class StorageCheck {
    private StorageCheck() {}

    /** Raises AccessControlException, before {@code system} changes one of {@code paths}. */
    public static void beforeChange(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeChange(system, path);
            }
        }
    }

    /** Raises AccessControlException, before {@code system} changes {@code path}. */
    public static void beforeChange(Object system, Path path) throws IOException {
        // What filters another file system changes files through that one, which is checked too.
        if (path == null || system instanceof FilterFileSystem || system instanceof FilterFs) {
            return;
        }
        ServerStorage storage = ServerStorage.current();
        URI home = storage == null ? null : homeOf(system);
        if (home == null) {
            return;
        }
        URI uri = absolute(system, path).toUri();
        check(storage, Location.of(home.getScheme(), home.getAuthority(), uri.getPath()));
        if (uri.getScheme() != null && !uri.getScheme().equalsIgnoreCase(home.getScheme())) {
            check(storage, Location.of(uri.getScheme(), uri.getAuthority(), uri.getPath()));
        }
    }

    private static void check(ServerStorage storage, Location location) throws IOException {
        refuse(storage, location, location);
        if (location.isLocal()) { // links
            String target = new File(location.path()).getCanonicalPath();
            refuse(storage, location, Location.of("file", null, target));
        }
    }

    private static void refuse(ServerStorage storage, Location named, Location location)
            throws IOException {
        String owner = storage.foreignCluster(location);
        if (owner != null && !WriteGrant.covers(location)) {
            throw new AccessControlException(OutsidePrimaryException.message(
                    "folder " + named.path(), owner, storage.cluster()));
        }
    }

    /** The URI of a file system; null for other objects and for one that is not yet set up. */
    private static URI homeOf(Object system) {
        URI uri = null;
        if (system instanceof FileSystem) {
            uri = ((FileSystem) system).getUri();
        } else if (system instanceof AbstractFileSystem) {
            uri = ((AbstractFileSystem) system).getUri();
        }
        return uri == null || uri.getScheme() == null ? null : uri;
    }

    private static Path absolute(Object system, Path path) {
        return path.isAbsolute() || !(system instanceof FileSystem)
                ? path : new Path(((FileSystem) system).getWorkingDirectory(), path);
    }
}
