package causeway.guard.files;

import causeway.guard.storage.HadoopPaths;
import causeway.guard.storage.Location;
import causeway.guard.storage.ServerStorage;
import causeway.guard.writes.StatementWrites;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Ends the copies of objects that are written without a plan: by RDDs, by programs that call a file
 * system, by threads of a command after its end. The package {@code causeway.guard.writes} has the theory.
 *
 * <p>Before the first change of a file in a folder, {@link FolderLease} reports a write of the folder to
 * the view. A file that a running SQL command has reported needs no lease ({@link StatementWrites}).
 *
 * <p>A file belongs to the objects whose folders contain it. A directory that is renamed or deleted may
 * also contain folders of objects, so it has a lease of its own.
 */
final class FileWrites {
    // The leases of this thread's calls, a stack. A null precedes the leases of each call.
    private static final ThreadLocal<List<FolderLease>> CALLS =
            ThreadLocal.withInitial(ArrayList::new);

    private FileWrites() {}

    /** Begins a call that changes files. */
    static void enter() {
        CALLS.get().add(null);
    }

    /** Ends the call. If it returned a stream, the stream keeps the call's leases until it is closed. */
    static void exit(Object result) {
        List<FolderLease> calls = CALLS.get();
        FolderLease lease = null;
        while (!calls.isEmpty() && (lease = calls.remove(calls.size() - 1)) != null) {
            if (result instanceof FSDataOutputStream) {
                LeaseHolders.add(result, lease);
            }
            lease.release();
        }
    }

    /** Call it before {@code system} writes the file {@code path}. Throws IOException to refuse. */
    static void beforeFile(Object system, Path path, ServerStorage storage) throws IOException {
        if (!StatementWrites.covers(system, path)) {
            lease(system, path, false, storage);
        }
    }

    /** Call it before {@code system} deletes or replaces {@code path}, which may be a directory. */
    static void beforeTree(Object system, Path path, ServerStorage storage) throws IOException {
        if (!StatementWrites.covers(system, path)) {
            lease(system, path, isDirectory(system, path), storage);
        }
    }

    /**
     * Call it before {@code system} renames {@code from} to {@code to}, or moves it into {@code to}, which
     * is a directory then.
     */
    static void beforeRename(Object system, Path from, Path to, ServerStorage storage)
            throws IOException {
        boolean isSourceCovered = StatementWrites.covers(system, from);
        boolean isTargetCovered = StatementWrites.covers(system, to);
        if (isSourceCovered && isTargetCovered) {
            return;
        }
        boolean isTree = isDirectory(system, from);
        if (!isSourceCovered) {
            lease(system, from, isTree, storage);
        }
        if (!isTargetCovered) {
            lease(system, isDirectory(system, to) ? new Path(to, from.getName()) : to, isTree, storage);
        }
    }

    /** Call it before a job writes the directory {@code path}. The job keeps the lease until its end. */
    static void beforeJob(Object committer, Object system, Path path, ServerStorage storage)
            throws IOException {
        if (!StatementWrites.covers(system, path)) {
            LeaseHolders.add(committer, lease(system, path, true, storage));
        }
    }

    /**
     * Returns the lease of the folder in which {@code path} lies, or with {@code isTree} that of the
     * directory {@code path}. The current call uses it until its end.
     */
    private static FolderLease lease(
            Object system, Path path, boolean isTree, ServerStorage storage) throws IOException {
        List<String> paths = new ArrayList<>();
        StringBuilder key = new StringBuilder();
        for (Path name : names(system, path)) {
            Path folder = folderOf(name);
            boolean isOwnTree = isTree && (name.isRoot() || folder.equals(name.getParent()));
            paths.add(name.toString());
            key.append(isOwnTree ? name + "/*" : folder.toString()).append('\n');
        }
        FolderLease lease = FolderLease.acquire(key.toString(), paths, storage);
        CALLS.get().add(lease);
        return lease;
    }

    /** Returns the full names of a path: its own, and that of the target if a local path has links. */
    private static List<Path> names(Object system, Path path) throws IOException {
        List<Path> names = new ArrayList<>();
        names.add(HadoopPaths.fullName(system, path));
        Location location = HadoopPaths.location(system, path);
        if (location.isLocal()) {
            String target = new File(location.path()).getCanonicalPath();
            if (!target.equals(location.path())) {
                names.add(new Path("file", null, target));
            }
        }
        return names;
    }

    /**
     * Returns the folder in which a file will be. A file below a committer's {@code _temporary/0} or
     * {@code __magic} will appear in the folder above these, so each job has one folder, not each task.
     */
    private static Path folderOf(Path path) {
        Path folder = path.getParent();
        for (Path each = folder; each != null && each.getParent() != null; each = each.getParent()) {
            String name = each.getName();
            if (each.getParent().getName().equals("_temporary") && name.matches("[0-9]+")) {
                folder = each.getParent().getParent();
            } else if (name.equals("__magic") || name.startsWith("__magic_job-")) {
                folder = each.getParent();
            }
        }
        return folder == null ? path : folder;
    }

    private static boolean isDirectory(Object system, Path path) {
        try {
            FileStatus status = system instanceof FileSystem
                    ? ((FileSystem) system).getFileStatus(path)
                    : ((AbstractFileSystem) system).getFileStatus(path);
            return status.isDirectory();
        } catch (FileNotFoundException absent) {
            return false;
        } catch (IOException | RuntimeException unknown) {
            return true;
        }
    }
}
