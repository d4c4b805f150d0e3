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
 * system, by threads of a command after its end.
 *
 * <p>Before the first change of a file in a folder the view gets one report of a write of the folder
 * ({@link FolderLease}). Files that a running SQL command has reported need no lease
 * ({@link StatementWrites}).
 *
 * <p>A file belongs to the objects whose folder contains it. A directory that is renamed or deleted
 * may also contain folders of objects, so it has a lease of its own.
 */
final class FileWrites {
    // Leases that calls of this thread hold; null begins the leases of one call.
    private static final ThreadLocal<List<FolderLease>> CALLS =
            ThreadLocal.withInitial(ArrayList::new);

    private FileWrites() {}

    /** A call that changes files begins. */
    static void enter() {
        CALLS.get().add(null);
    }

    /** The call has ended. The folder of a returned stream is in use until the stream closes. */
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

    /** Before {@code system} writes the file {@code path}. Throws IOException if it must not. */
    static void beforeFile(Object system, Path path, ServerStorage storage) throws IOException {
        if (!StatementWrites.cover(system, path)) {
            change(system, path, false, storage);
        }
    }

    /** Before {@code system} deletes or replaces {@code path}, which may be a directory. */
    static void beforeTree(Object system, Path path, ServerStorage storage) throws IOException {
        if (!StatementWrites.cover(system, path)) {
            change(system, path, isDirectory(system, path), storage);
        }
    }

    /** Before {@code system} renames {@code from} to {@code to}, or moves it into that directory. */
    static void beforeRename(Object system, Path from, Path to, ServerStorage storage)
            throws IOException {
        boolean source = StatementWrites.cover(system, from);
        boolean target = StatementWrites.cover(system, to);
        if (source && target) {
            return;
        }
        boolean whole = isDirectory(system, from);
        if (!source) {
            change(system, from, whole, storage);
        }
        if (!target) {
            change(system, isDirectory(system, to) ? new Path(to, from.getName()) : to, whole, storage);
        }
    }

    /** Before a job writes the directory {@code path}. The lease is in use until the job's end. */
    static void beforeJob(Object committer, Object system, Path path, ServerStorage storage)
            throws IOException {
        if (!StatementWrites.cover(system, path)) {
            LeaseHolders.add(committer, change(system, path, true, storage));
        }
    }

    private static FolderLease change(
            Object system, Path path, boolean whole, ServerStorage storage) throws IOException {
        List<String> paths = new ArrayList<>();
        StringBuilder key = new StringBuilder();
        for (Path name : names(system, path)) {
            Path folder = folderOf(name);
            boolean tree = whole && (name.isRoot() || folder.equals(name.getParent()));
            paths.add(name.toString());
            key.append(tree ? name + "/*" : folder.toString()).append('\n');
        }
        FolderLease lease = FolderLease.acquire(key.toString(), paths, storage);
        CALLS.get().add(lease);
        return lease;
    }

    /** The full names of a path: as it is given, and where links of a local one lead. */
    private static List<Path> names(Object system, Path path) throws IOException {
        List<Path> names = new ArrayList<>();
        names.add(HadoopPaths.fullName(system, path));
        Location named = HadoopPaths.location(system, path);
        if (named.isLocal()) {
            String target = new File(named.path()).getCanonicalPath();
            if (!target.equals(named.path())) {
                names.add(new Path("file", null, target));
            }
        }
        return names;
    }

    /**
     * The folder in which a file is written. Files below a committer's {@code _temporary/0} or
     * {@code __magic} count as files of the folder in which they will appear, not each task's as one
     * more folder.
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
