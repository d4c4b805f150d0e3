package causeway.guard.files;

import causeway.guard.storage.HadoopPaths;
import causeway.guard.storage.Location;
import causeway.guard.storage.ServerStorage;
import causeway.guard.writes.OutsidePrimaryException;
import causeway.guard.writes.WriteGrant;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FilterFs;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter;
import org.apache.hadoop.security.AccessControlException;

/**
 * The methods that file systems and committers call: {@link StorageAgent} adds the calls. They refuse
 * changes in the file systems of other clusters, and end the copies of objects that are written in the
 * cluster's own ({@link FileWrites}).
 */
public final class StorageCheck {
    private StorageCheck() {}

    /** Begins a call that changes files. */
    public static void enter() {
        FileWrites.enter();
    }

    /** Ends the call, which returns no object or throws. */
    public static void exit() {
        FileWrites.exit(null);
    }

    /** Ends the call, which returns {@code result}, perhaps an open stream. */
    public static void exit(Object result) {
        FileWrites.exit(result);
    }

    /** Releases the leases of a stream that was closed. */
    public static void closed(Object stream) {
        LeaseHolders.remove(stream);
    }

    /**
     * Call it before a committer's method of a job. From the first one until {@link #jobEnded} no copy of
     * the job's output is fresh, since a committer may make files visible without a call of a file system:
     * those of S3A complete uploads. Throws IOException if the job must not write.
     */
    public static void beforeJob(Object committer, JobContext job) throws IOException {
        ServerStorage storage = ServerStorage.current();
        if (storage == null || storage.cluster().isEmpty()) {
            return;
        }
        for (Path path : outputs(committer, job)) {
            FileSystem system;
            try {
                system = path.getFileSystem(job.getConfiguration());
            } catch (UnsupportedFileSystemException none) {
                continue; // the job writes no files: its output format gives the name another meaning
            }
            while (system instanceof FilterFileSystem) {
                system = ((FilterFileSystem) system).getRawFileSystem();
            }
            beforeChange(system, path);
            if (!storage.isScratch(HadoopPaths.location(system, path))) {
                FileWrites.beforeJob(committer, system, path, storage);
            }
        }
    }

    /** Releases the leases of a committer that has committed or aborted its job without an exception. */
    public static void jobEnded(Object committer) {
        LeaseHolders.remove(committer);
    }

    /** Returns the output directories of a job. */
    private static Set<Path> outputs(Object committer, JobContext job) {
        Set<Path> outputs = new LinkedHashSet<>();
        try {
            outputs.add(new Path(job.getConfiguration().get(FileOutputFormat.OUTDIR, "")));
        } catch (IllegalArgumentException none) {
            // the job has no output directory
        }
        if (committer instanceof PathOutputCommitter) {
            outputs.add(((PathOutputCommitter) committer).getOutputPath());
        }
        outputs.remove(null);
        return outputs;
    }

    /** Throws AccessControlException if {@code system} must not change one of {@code paths}. */
    public static void beforeChange(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeChange(system, path);
            }
        }
    }

    /** Throws AccessControlException if {@code system} must not change {@code path}. */
    public static void beforeChange(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage == null) {
            return;
        }
        URI home = HadoopPaths.home(system);
        URI uri = HadoopPaths.absolute(system, path).toUri();
        check(storage, Location.of(home.getScheme(), home.getAuthority(), uri.getPath()));
        if (uri.getScheme() != null && !uri.getScheme().equalsIgnoreCase(home.getScheme())) {
            check(storage, Location.of(uri.getScheme(), uri.getAuthority(), uri.getPath()));
        }
    }

    /** Call it before {@code system} writes these files. Throws IOException to refuse. */
    public static void beforeFile(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeFile(system, path);
            }
        }
    }

    /** Call it before {@code system} writes the file {@code path}. Throws IOException to refuse. */
    public static void beforeFile(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage != null && !storage.isScratch(HadoopPaths.location(system, path))) {
            FileWrites.beforeFile(system, path, storage);
        }
    }

    /** Call it before {@code system} deletes or replaces these, with all below them. */
    public static void beforeTree(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeTree(system, path);
            }
        }
    }

    /** Call it before {@code system} deletes or replaces {@code path}, with all below it. */
    public static void beforeTree(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage != null && !storage.isScratch(HadoopPaths.location(system, path))) {
            FileWrites.beforeTree(system, path, storage);
        }
    }

    /** Call it before {@code system} renames {@code from} to {@code to}. Throws IOException to refuse. */
    public static void beforeRename(Object system, Path from, Path to) throws IOException {
        ServerStorage storage = storageFor(system, from);
        if (storage != null && to != null) {
            FileWrites.beforeRename(system, from, to, storage);
        }
    }

    /** Returns the storage whose rules hold for {@code path}; null if the path needs no check. */
    private static ServerStorage storageFor(Object system, Path path) {
        // A filter changes files by another file system, which has the calls too.
        if (path == null || system instanceof FilterFileSystem || system instanceof FilterFs) {
            return null;
        }
        ServerStorage storage = ServerStorage.current();
        return storage == null || storage.cluster().isEmpty() || HadoopPaths.home(system) == null
                ? null : storage;
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
}
