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
 * What every file system of the process calls before and after it changes files, since
 * {@link StorageAgent} has changed its methods. Refuses changes in the file systems of other clusters,
 * and ends the copies of what is written in the cluster's own ({@link FileWrites}).
 */
public final class StorageCheck {
    private StorageCheck() {}

    /** A method that changes files begins. */
    public static void enter() {
        FileWrites.enter();
    }

    /** The method ends, well or not. */
    public static void exit() {
        FileWrites.exit(null);
    }

    /** The method returns {@code result}, which may be an open stream. */
    public static void exit(Object result) {
        FileWrites.exit(result);
    }

    /** A stream has been closed. */
    public static void closed(Object stream) {
        OpenStreams.close(stream);
    }

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
        ServerStorage storage = storageFor(system, path);
        if (storage == null) {
            return;
        }
        URI home = homeOf(system);
        URI uri = absolute(system, path).toUri();
        check(storage, Location.of(home.getScheme(), home.getAuthority(), uri.getPath()));
        if (uri.getScheme() != null && !uri.getScheme().equalsIgnoreCase(home.getScheme())) {
            check(storage, Location.of(uri.getScheme(), uri.getAuthority(), uri.getPath()));
        }
    }

    /** Before {@code system} writes these files. Raises IOException if it must not. */
    public static void beforeFile(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeFile(system, path);
            }
        }
    }

    /** Before {@code system} writes the file {@code path}. Raises IOException if it must not. */
    public static void beforeFile(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage != null && !storage.isScratch(location(system, path))) {
            FileWrites.beforeFile(system, path, storage);
        }
    }

    /** Before {@code system} deletes or replaces these, with all that is in them. */
    public static void beforeTree(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeTree(system, path);
            }
        }
    }

    /** Before {@code system} deletes or replaces {@code path}, with all that is in it. */
    public static void beforeTree(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage != null && !storage.isScratch(location(system, path))) {
            FileWrites.beforeTree(system, path, storage);
        }
    }

    /** Before {@code system} renames {@code from} to {@code to}. Raises IOException if it must not. */
    public static void beforeRename(Object system, Path from, Path to) throws IOException {
        ServerStorage storage = storageFor(system, from);
        if (storage != null && to != null) {
            FileWrites.beforeRename(system, from, to, storage);
        }
    }

    /** What the process may write; null where nothing is to be checked. */
    private static ServerStorage storageFor(Object system, Path path) {
        // What filters another file system changes files through that one, which is checked too.
        if (path == null || system instanceof FilterFileSystem || system instanceof FilterFs) {
            return null;
        }
        ServerStorage storage = ServerStorage.current();
        return storage == null || storage.cluster().isEmpty() || homeOf(system) == null
                ? null : storage;
    }

    /** Where {@code system} has a path. */
    static Location location(Object system, Path path) {
        URI home = homeOf(system);
        return Location.of(home.getScheme(), home.getAuthority(), absolute(system, path).toUri().getPath());
    }

    /** The path with scheme and host. */
    static Path fullName(Object system, Path path) {
        URI home = homeOf(system);
        return new Path(home.getScheme(), home.getAuthority(), absolute(system, path).toUri().getPath());
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
