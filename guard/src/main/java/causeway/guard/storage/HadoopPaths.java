package causeway.guard.storage;

import java.net.URI;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Full names of paths in a Hadoop file system: a FileSystem or an AbstractFileSystem. */
public final class HadoopPaths {
    private HadoopPaths() {}

    /** Returns the location of a path in {@code system}. */
    public static Location location(Object system, Path path) {
        URI home = home(system);
        return Location.of(home.getScheme(), home.getAuthority(), absolute(system, path).toUri().getPath());
    }

    /** Returns the path with the scheme and authority of {@code system}. */
    public static Path fullName(Object system, Path path) {
        URI home = home(system);
        return new Path(home.getScheme(), home.getAuthority(), absolute(system, path).toUri().getPath());
    }

    /** Returns the URI of a file system; null for other objects and before the system is initialised. */
    public static URI home(Object system) {
        URI uri = null;
        if (system instanceof FileSystem) {
            uri = ((FileSystem) system).getUri();
        } else if (system instanceof AbstractFileSystem) {
            uri = ((AbstractFileSystem) system).getUri();
        }
        return uri == null || uri.getScheme() == null ? null : uri;
    }

    /** Returns the path from the root of {@code system}. */
    public static Path absolute(Object system, Path path) {
        return path.isAbsolute() || !(system instanceof FileSystem)
                ? path : new Path(((FileSystem) system).getWorkingDirectory(), path);
    }
}
