package causeway.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.Path;

/**
 * The operations on files that the driver itself runs: they list, create, move and delete directories, and
 * read and write small files.
 *
 * <p>One call takes many locations, since each call from Python costs a round trip. Locations are
 * URL-encoded, one a line. A line of the result begins with the index of its location, if the method does
 * not say otherwise.
 */
public final class DriverFiles {
    private static final int MARKER_LIMIT = 1 << 26;
    private static final int FILE_LIMIT = 1 << 29;
    private final FileSystems systems;
    private final int threads;

    public DriverFiles(Map<String, Map<String, String>> endpoints, int threads) {
        this.systems = new FileSystems(endpoints);
        this.threads = threads;
    }

    /**
     * Returns all files below each location: index, relative path, length, modification time; or the index
     * alone if the directory does not exist. Leaves out files that a running job has not committed.
     */
    public String list(String locations) throws IOException, InterruptedException {
        return forEach(locations, (index, line) -> {
            StringBuilder lines = new StringBuilder();
            Path root = new Path(FileCopy.decode(line));
            FileStore store = systems.of(root);
            if (store.stat(root) == null) {
                lines.append(index).append('\n');
            } else {
                walk(store, root, index, "", lines);
            }
            return lines.toString();
        });
    }

    /** Deletes each location with all below it. One that does not exist is no error. */
    public void delete(String locations) throws IOException, InterruptedException {
        forEach(locations, (index, line) -> {
            Path path = new Path(FileCopy.decode(line));
            systems.of(path).delete(path);
            return "";
        });
    }

    /** Creates each directory of "directory TAB like", with the permission (and owner) of `like`. */
    public void mkdirs(String locations, boolean keepOwner) throws IOException, InterruptedException {
        forEach(locations, (index, line) -> {
            String[] fields = line.split("\t", -1);
            Path path = new Path(FileCopy.decode(fields[0]));
            FileStore store = systems.of(path);
            store.mkdirs(path);
            if (fields.length > 1) {
                Path like = new Path(FileCopy.decode(fields[1]));
                FileInfo info = systems.of(like).stat(like);
                if (info != null) {
                    store.copyAttributes(path, info, keepOwner);
                }
            }
            return "";
        });
    }

    /**
     * Renames each "from TAB to" whose source exists and whose target does not. Returns the sources that
     * moved, URL-encoded, one a line. Moves nothing in object stores.
     */
    public String move(String pairs) throws IOException {
        StringBuilder moved = new StringBuilder();
        for (String line : pairs.split("\n", -1)) {
            String[] fields = line.split("\t", -1);
            Path from = new Path(FileCopy.decode(fields[0]));
            Path to = new Path(FileCopy.decode(fields[1]));
            FileStore store = systems.of(from);
            if (!store.isObjectStore() && store.stat(from) != null && store.stat(to) == null) {
                store.mkdirs(to.getParent());
                store.rename(from, to);
                moved.append(FileCopy.encode(FileCopy.decode(fields[0]))).append('\n');
            }
        }
        return moved.toString();
    }

    /**
     * Renames the file of each "from TAB to" over the target, also in object stores. Returns the sources
     * that existed and moved, URL-encoded, one a line.
     */
    public String moveFiles(String pairs) throws IOException, InterruptedException {
        Set<Path> createdFolders = ConcurrentHashMap.newKeySet();
        return forEach(pairs, (index, line) -> {
            String[] fields = line.split("\t", -1);
            Path from = new Path(FileCopy.decode(fields[0]));
            Path to = new Path(FileCopy.decode(fields[1]));
            FileStore store = systems.of(from);
            if (store.stat(from) == null) {
                return "";
            }
            if (createdFolders.add(to.getParent())) {
                store.mkdirs(to.getParent());
            }
            store.rename(from, to);
            return FileCopy.encode(FileCopy.decode(fields[0])) + "\n";
        });
    }

    /** Returns the text of each marker: index and text, URL-encoded; or the index alone without one. */
    public String readMarkers(String locations) throws IOException, InterruptedException {
        return forEach(locations, (index, line) -> {
            String text = readMarker(FileCopy.decode(line));
            return index + (text == null ? "\n" : "\t" + FileCopy.encode(text) + "\n");
        });
    }

    /** Returns the directories directly below each location: index and name, URL-encoded. */
    public String folders(String locations) throws IOException, InterruptedException {
        return forEach(locations, (index, line) -> {
            Path path = new Path(FileCopy.decode(line));
            StringBuilder names = new StringBuilder();
            for (FileInfo child : systems.of(path).children(path)) {
                if (child.directory) {
                    String name = FileCopy.encode(child.path.getName());
                    names.append(index).append('\t').append(name).append('\n');
                }
            }
            return names.toString();
        });
    }

    /** Returns the content of a file; null without one. */
    public byte[] readFile(String location) throws IOException {
        ByteBuffer buffer = read(location, FILE_LIMIT);
        return buffer == null ? null : Arrays.copyOf(buffer.array(), buffer.position());
    }

    private String readMarker(String location) throws IOException {
        ByteBuffer buffer = read(location, MARKER_LIMIT);
        if (buffer == null) {
            return null;
        }
        return new String(buffer.array(), 0, buffer.position(), StandardCharsets.UTF_8);
    }

    private ByteBuffer read(String location, int limit) throws IOException {
        Path path = new Path(location);
        FileStore store = systems.of(path);
        FileInfo info = store.stat(path);
        if (info == null) {
            return null;
        }
        if (info.length > limit) {
            throw new IOException(location + " has more than " + limit + " bytes");
        }
        ByteBuffer buffer = ByteBuffer.allocate((int) info.length + 1);
        try (ReadableByteChannel in = store.read(path)) {
            while (buffer.hasRemaining() && in.read(buffer) >= 0) {}
        } catch (FileNotFoundException | NoSuchFileException deletedMeanwhile) {
            return null;
        }
        return buffer;
    }

    /** Writes a small text file, which appears whole. */
    public void writeMarker(String location, String text) throws IOException {
        writeFile(location, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Writes a file, which appears whole. */
    public void writeFile(String location, byte[] data) throws IOException {
        Path path = new Path(location);
        FileStore store = systems.of(path);
        store.mkdirs(path.getParent());
        boolean direct = store.isObjectStore();
        Path part = direct ? path : new Path(path.getParent(), "." + path.getName() + ".part");
        try (WritableByteChannel out = store.write(part)) {
            ByteBuffer buffer = ByteBuffer.wrap(data);
            while (buffer.hasRemaining()) {
                out.write(buffer);
            }
        }
        if (!direct) {
            store.rename(part, path);
        }
    }

    /** Appends the committed files below {@code directory}. */
    private static void walk(
            FileStore store, Path directory, int index, String prefix, StringBuilder lines)
            throws IOException {
        for (FileInfo child : store.children(directory)) {
            String name = child.path.getName();
            if (!child.directory) {
                lines.append(index).append('\t').append(FileCopy.encode(prefix + name)).append('\t');
                lines.append(child.length).append('\t').append(child.modified).append('\n');
            } else if (!isUncommitted(name)) {
                walk(store, child.path, index, prefix + name + "/", lines);
            }
        }
    }

    /** Whether Hadoop's, S3A's, Hive's or Spark's committers stage output in directories of that name. */
    private static boolean isUncommitted(String name) {
        return name.equals("_temporary")
                || name.equals("__magic")
                || name.startsWith("__magic_job-")
                || name.startsWith(".hive-staging")
                || name.startsWith(".spark-staging");
    }

    private interface LineCall {
        String call(int index, String line) throws IOException;
    }

    /** Calls {@code call} for each line, in a few threads. Returns the results in the order of the lines. */
    private String forEach(String lines, LineCall call) throws IOException, InterruptedException {
        List<Callable<String>> calls = new ArrayList<>();
        for (String line : lines.split("\n", -1)) {
            int index = calls.size();
            calls.add(() -> call.call(index, line));
        }
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(threads, calls.size())));
        try {
            StringBuilder results = new StringBuilder();
            for (Future<String> each : pool.invokeAll(calls)) {
                results.append(each.get());
            }
            return results.toString();
        } catch (ExecutionException error) {
            throw new IOException(error.getCause());
        } finally {
            pool.shutdownNow();
        }
    }
}
