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
 * Called by every file system of the process before and after it changes files, and by every committer
 * of a job: {@link StorageAgent} adds the calls. Refuses changes in the file systems of other clusters,
 * and ends the copies of objects that are written in the cluster's own ({@link FileWrites}).
 */
public final class StorageCheck {
    private StorageCheck() {}

    /** A method that changes files begins. */
    public static void enter() {
        FileWrites.enter();
    }

    /** The method has ended, with or without an exception. */
    public static void exit() {
        FileWrites.exit(null);
    }

    /** The method returns {@code result}, which may be an open stream. */
    public static void exit(Object result) {
        FileWrites.exit(result);
    }

    /** A stream has been closed. */
    public static void closed(Object stream) {
        LeaseHolders.remove(stream);
    }

    /**
     * A committer's method for a whole job begins. From the first of them until {@link #jobEnded} no
     * copy of what the job writes is fresh: a committer may make files visible without a call of a file
     * system, as those of S3A do by completing uploads. Throws IOException if the job must not write.
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
                continue; // the job writes no files: the name means something to its own format
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

    /** A committer has committed or aborted its job, without an exception. */
    public static void jobEnded(Object committer) {
        LeaseHolders.remove(committer);
    }

    private static Set<Path> outputs(Object committer, JobContext job) {
        Set<Path> outputs = new LinkedHashSet<>();
        try {
            outputs.add(new Path(job.getConfiguration().get(FileOutputFormat.OUTDIR, "")));
        } catch (IllegalArgumentException none) {
            // the job has no directory
        }
        if (committer instanceof PathOutputCommitter) {
            outputs.add(((PathOutputCommitter) committer).getOutputPath());
        }
        outputs.remove(null);
        return outputs;
    }

    /** Throws AccessControlException, before {@code system} changes one of {@code paths}. */
    public static void beforeChange(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeChange(system, path);
            }
        }
    }

    /** Throws AccessControlException, before {@code system} changes {@code path}. */
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

    /** Before {@code system} writes these files. Throws IOException if it must not. */
    public static void beforeFile(Object system, Path[] paths) throws IOException {
        if (paths != null) {
            for (Path path : paths) {
                beforeFile(system, path);
            }
        }
    }

    /** Before {@code system} writes the file {@code path}. Throws IOException if it must not. */
    public static void beforeFile(Object system, Path path) throws IOException {
        ServerStorage storage = storageFor(system, path);
        if (storage != null && !storage.isScratch(HadoopPaths.location(system, path))) {
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
        if (storage != null && !storage.isScratch(HadoopPaths.location(system, path))) {
            FileWrites.beforeTree(system, path, storage);
        }
    }

    /** Before {@code system} renames {@code from} to {@code to}. Throws IOException if it must not. */
    public static void beforeRename(Object system, Path from, Path to) throws IOException {
        ServerStorage storage = storageFor(system, from);
        if (storage != null && to != null) {
            FileWrites.beforeRename(system, from, to, storage);
        }
    }

    /** Returns the rules for writes of the process; null where {@code path} needs no check. */
    private static ServerStorage storageFor(Object system, Path path) {
        // A filter changes files through another file system, which is checked too.
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
