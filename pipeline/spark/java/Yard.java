package causeway;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.Path;

/** What the driver itself does with files: list, make, delete, and its own small notes. */
public final class Yard {
    private static final int NOTE_LIMIT = 1 << 26;
    private final Stores stores;
    private final int threads;

    public Yard(Map endpoints, int threads) {
        this.stores = new Stores(endpoints);
        this.threads = threads;
    }

    /**
     * All files below each of the locations (URL-encoded, one a line). A line an answer: index of
     * the location, relative path, length, modification time; or index and nothing more when
     * there is no such directory. What a running job has not committed is left out.
     */
    public String list(String locations) throws Exception {
        final String[] lines = locations.split("\n", -1);
        List jobs = new ArrayList();
        for (int i = 0; i < lines.length; i++) {
            final int index = i;
            jobs.add(new Callable() {
                public Object call() throws Exception {
                    StringBuilder found = new StringBuilder();
                    Path root = new Path(Courier.decode(lines[index]));
                    Stores.Store store = Yard.this.stores.of(root);
                    if (store.stat(root) == null) {
                        found.append(index).append('\n');
                    } else {
                        Yard.walk(store, root, index, "", found);
                    }
                    return found.toString();
                }
            });
        }
        return all(jobs);
    }

    /** Deletes each location with all below it; no error when it is not there. */
    public void delete(String locations) throws Exception {
        final String[] lines = locations.split("\n", -1);
        List jobs = new ArrayList();
        for (int i = 0; i < lines.length; i++) {
            final Path path = new Path(Courier.decode(lines[i]));
            jobs.add(new Callable() {
                public Object call() throws Exception {
                    Yard.this.stores.of(path).delete(path);
                    return "";
                }
            });
        }
        all(jobs);
    }

    /** Makes each directory of "directory TAB like": with the permission (and owner) of `like`. */
    public void mkdirs(String locations, final boolean keepOwner) throws Exception {
        final String[] lines = locations.split("\n", -1);
        List jobs = new ArrayList();
        for (int i = 0; i < lines.length; i++) {
            final String[] fields = lines[i].split("\t", -1);
            jobs.add(new Callable() {
                public Object call() throws Exception {
                    Path path = new Path(Courier.decode(fields[0]));
                    Stores.Store store = Yard.this.stores.of(path);
                    store.mkdirs(path);
                    if (fields.length > 1) {
                        Path like = new Path(Courier.decode(fields[1]));
                        Stores.Entry entry = Yard.this.stores.of(like).stat(like);
                        if (entry != null) {
                            store.dress(path, entry, keepOwner);
                        }
                    }
                    return "";
                }
            });
        }
        all(jobs);
    }

    /** Renames each "from TAB to"; answers those that were there and moved. Not in object stores. */
    public String move(String pairs) throws IOException {
        String[] lines = pairs.split("\n", -1);
        StringBuilder moved = new StringBuilder();
        for (int i = 0; i < lines.length; i++) {
            String[] fields = lines[i].split("\t", -1);
            Path from = new Path(Courier.decode(fields[0]));
            Path to = new Path(Courier.decode(fields[1]));
            Stores.Store store = stores.of(from);
            if (!store.objects() && store.stat(from) != null && store.stat(to) == null) {
                store.mkdirs(to.getParent());
                store.place(from, to);
                moved.append(Courier.encode(Courier.decode(fields[0]))).append('\n');
            }
        }
        return moved.toString();
    }

    /** Of each location (URL-encoded, one a line): its index and its note, or its index alone. */
    public String notes(String locations) throws Exception {
        final String[] lines = locations.split("\n", -1);
        List jobs = new ArrayList();
        for (int i = 0; i < lines.length; i++) {
            final int index = i;
            jobs.add(new Callable() {
                public Object call() throws Exception {
                    String text = Yard.this.note(Courier.decode(lines[index]));
                    return index + (text == null ? "\n" : "\t" + Courier.encode(text) + "\n");
                }
            });
        }
        return all(jobs);
    }

    /** Of each location, for each of its direct children: its index and the child's name. */
    public String childrenOf(String locations) throws Exception {
        final String[] lines = locations.split("\n", -1);
        List jobs = new ArrayList();
        for (int i = 0; i < lines.length; i++) {
            final int index = i;
            jobs.add(new Callable() {
                public Object call() throws Exception {
                    String names = Yard.this.children(Courier.decode(lines[index]));
                    return names.length() == 0 ? "" : index + "\t" + names.trim().replace("\n", "\n" + index + "\t") + "\n";
                }
            });
        }
        return all(jobs);
    }

    /** Names of the direct children, URL-encoded, one a line; a directory's ends in "/". */
    public String children(String location) throws IOException {
        Path path = new Path(location);
        StringBuilder names = new StringBuilder();
        Iterator each = stores.of(path).children(path).iterator();
        while (each.hasNext()) {
            Stores.Entry entry = (Stores.Entry) each.next();
            names.append(Courier.encode(entry.path.getName())).append(entry.directory ? "/\n" : "\n");
        }
        return names.toString();
    }

    /** A small text file, or null when there is none. */
    public String note(String location) throws IOException {
        Path path = new Path(location);
        Stores.Store store = stores.of(path);
        Stores.Entry entry = store.stat(path);
        if (entry == null) {
            return null;
        }
        if (entry.length > NOTE_LIMIT) {
            throw new IOException(location + " is too long for a note");
        }
        ByteBuffer buffer = ByteBuffer.allocate((int) entry.length + 1);
        ReadableByteChannel in;
        try {
            in = store.read(path);
        } catch (FileNotFoundException gone) {
            return null;
        } catch (java.nio.file.NoSuchFileException gone) {
            return null;
        }
        try {
            while (buffer.hasRemaining() && in.read(buffer) >= 0) {}
        } finally {
            in.close();
        }
        return new String(buffer.array(), 0, buffer.position(), StandardCharsets.UTF_8);
    }

    /** Writes a small text file whole or not at all. */
    public void leaveNote(String location, String text) throws IOException {
        Path path = new Path(location);
        Stores.Store store = stores.of(path);
        store.mkdirs(path.getParent());
        Path part = store.objects() ? path : new Path(path.getParent(), "." + path.getName() + ".part");
        WritableByteChannel out = store.write(part);
        try {
            out.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
        } finally {
            out.close();
        }
        if (!store.objects()) {
            store.place(part, path);
        }
    }

    private static void walk(Stores.Store store, Path directory, int index, String prefix, StringBuilder found)
            throws IOException {
        Iterator each = store.children(directory).iterator();
        while (each.hasNext()) {
            Stores.Entry entry = (Stores.Entry) each.next();
            String name = entry.path.getName();
            if (!entry.directory) {
                found.append(index).append('\t').append(Courier.encode(prefix + name)).append('\t');
                found.append(entry.length).append('\t').append(entry.modified).append('\n');
            } else if (!uncommitted(name)) {
                walk(store, entry.path, index, prefix + name + "/", found);
            }
        }
    }

    /** Where Hadoop's, Hive's and Spark's committers keep what is not yet part of a table. */
    private static boolean uncommitted(String name) {
        return name.equals("_temporary") || name.startsWith(".hive-staging") || name.startsWith(".spark-staging");
    }

    private String all(List jobs) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(threads, jobs.size())));
        try {
            StringBuilder answers = new StringBuilder();
            Iterator each = pool.invokeAll(jobs).iterator();
            while (each.hasNext()) {
                answers.append((String) ((Future) each.next()).get());
            }
            return answers.toString();
        } finally {
            pool.shutdownNow();
        }
    }
}
