package causeway;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * File systems by URI, each with the settings of its endpoint (FA-R10).
 *
 * <p>file: URIs go through java.nio, since Hadoop's own local file system starts a process for
 * every permission and hides .crc files; every other scheme goes through Hadoop.
 * Compiled by Janino, which Spark carries: hence the plain old Java without generics.
 */
public final class Stores {
    private final Map endpoints;
    private final HashMap open = new HashMap();

    /** endpoints: authority, or "*" for the rest, to Hadoop settings. */
    public Stores(Map endpoints) {
        this.endpoints = endpoints;
    }

    synchronized Store of(Path path) throws IOException {
        Path full = path.toUri().getScheme() == null ? path.makeQualified(FileSystem.getDefaultUri(conf("")), null) : path;
        String scheme = full.toUri().getScheme();
        String authority = full.toUri().getAuthority() == null ? "" : full.toUri().getAuthority();
        String key = scheme + "://" + authority;
        Store store = (Store) open.get(key);
        if (store == null) {
            if (scheme.equals("file")) {
                store = new LocalStore();
            } else {
                boolean own = endpoints.containsKey(authority) || endpoints.containsKey("*");
                Configuration conf = conf(authority);
                store = new HadoopStore(own ? FileSystem.newInstance(full.toUri(), conf) : full.getFileSystem(conf));
            }
            open.put(key, store);
        }
        return store;
    }

    private Configuration conf(String authority) {
        Configuration conf = new Configuration(org.apache.spark.deploy.SparkHadoopUtil.get().conf());
        Map settings = (Map) (endpoints.containsKey(authority) ? endpoints.get(authority) : endpoints.get("*"));
        if (settings != null) {
            Iterator entries = settings.entrySet().iterator();
            while (entries.hasNext()) {
                Map.Entry entry = (Map.Entry) entries.next();
                conf.set((String) entry.getKey(), (String) entry.getValue());
            }
        }
        return conf;
    }

    /** What is known of one file or directory. Times are in milliseconds. */
    static final class Entry {
        final Path path;
        final boolean directory;
        final long length;
        final long modified;
        final Object origin;

        Entry(Path path, boolean directory, long length, long modified, Object origin) {
            this.path = path;
            this.directory = directory;
            this.length = length;
            this.modified = modified;
            this.origin = origin;
        }
    }

    /** The few things that a copy needs of a file system. */
    abstract static class Store {
        /** True when files appear whole or not at all and keep no time of ours. */
        boolean objects() {
            return false;
        }

        boolean local() {
            return false;
        }

        /** Null when there is nothing. */
        abstract Entry stat(Path path) throws IOException;

        /** The direct children; empty when there is no such directory. */
        abstract List children(Path path) throws IOException;

        abstract ReadableByteChannel read(Path path) throws IOException;

        abstract WritableByteChannel write(Path path) throws IOException;

        abstract void mkdirs(Path path) throws IOException;

        /** With everything below; no error when there is nothing. */
        abstract void delete(Path path) throws IOException;

        /** Replaces the target in one step where the file system can. */
        abstract void place(Path from, Path to) throws IOException;

        /** Permission and time of `like`; its owner too, where that is allowed. */
        abstract void dress(Path path, Entry like, boolean owner) throws IOException;
    }

    static final class LocalStore extends Store {
        private static java.nio.file.Path at(Path path) {
            return java.nio.file.Paths.get(path.toUri().getPath(), new String[0]);
        }

        boolean local() {
            return true;
        }

        Entry stat(Path path) throws IOException {
            try {
                PosixFileAttributes found = (PosixFileAttributes)
                        Files.readAttributes(at(path), PosixFileAttributes.class, new LinkOption[0]);
                return entry(path, found, found);
            } catch (NoSuchFileException absent) {
                return null;
            }
        }

        private static Entry entry(Path path, BasicFileAttributes found, Object origin) {
            long length = found.isDirectory() ? 0 : found.size();
            return new Entry(path, found.isDirectory(), length, found.lastModifiedTime().toMillis(), origin);
        }

        List children(Path path) throws IOException {
            List entries = new ArrayList();
            java.nio.file.DirectoryStream names;
            try {
                names = Files.newDirectoryStream(at(path));
            } catch (NoSuchFileException absent) {
                return entries;
            }
            try {
                Iterator each = names.iterator();
                while (each.hasNext()) {
                    java.nio.file.Path child = (java.nio.file.Path) each.next();
                    Entry entry = stat(new Path(path, new Path(null, null, child.getFileName().toString())));
                    if (entry != null) {
                        entries.add(entry);
                    }
                }
            } finally {
                names.close();
            }
            return entries;
        }

        ReadableByteChannel read(Path path) throws IOException {
            return FileChannel.open(at(path), new OpenOption[] {StandardOpenOption.READ});
        }

        WritableByteChannel write(Path path) throws IOException {
            return FileChannel.open(at(path), new OpenOption[] {
                StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING
            });
        }

        void mkdirs(Path path) throws IOException {
            Files.createDirectories(at(path), new FileAttribute[0]);
        }

        void delete(Path path) throws IOException {
            Entry entry = stat(path);
            if (entry != null && entry.directory && !Files.isSymbolicLink(at(path))) {
                Iterator below = children(path).iterator();
                while (below.hasNext()) {
                    delete(((Entry) below.next()).path);
                }
            }
            Files.deleteIfExists(at(path));
        }

        void place(Path from, Path to) throws IOException {
            Files.move(at(from), at(to), new CopyOption[] {StandardCopyOption.ATOMIC_MOVE});
        }

        void dress(Path path, Entry like, boolean owner) throws IOException {
            PosixFileAttributeView view = (PosixFileAttributeView)
                    Files.getFileAttributeView(at(path), PosixFileAttributeView.class, new LinkOption[0]);
            if (like.origin instanceof PosixFileAttributes) {
                PosixFileAttributes found = (PosixFileAttributes) like.origin;
                view.setPermissions(found.permissions());
                if (owner) {
                    giveTo(view, found);
                }
            } else {
                String bits = ((FileStatus) like.origin).getPermission().toString();
                view.setPermissions(java.nio.file.attribute.PosixFilePermissions.fromString(bits.substring(0, 9)));
            }
            FileTime time = FileTime.fromMillis(like.modified);
            view.setTimes(time, null, null);
        }

        private static void giveTo(PosixFileAttributeView view, PosixFileAttributes found) throws IOException {
            try {
                PosixFileAttributes mine = view.readAttributes();
                if (!mine.owner().equals(found.owner())) {
                    view.setOwner(found.owner());
                }
                if (!mine.group().equals(found.group())) {
                    view.setGroup(found.group());
                }
            } catch (java.nio.file.FileSystemException notAllowed) {
                // Only a superuser may give files away; else they stay the submitter's (FA-S1).
            }
        }
    }

    static final class HadoopStore extends Store {
        private static final String OBJECTS = " s3 s3a s3n gs oss cosn obs ";
        private final FileSystem system;

        HadoopStore(FileSystem system) {
            this.system = system;
        }

        boolean objects() {
            return OBJECTS.indexOf(" " + system.getUri().getScheme() + " ") >= 0;
        }

        private static Entry entry(FileStatus found) {
            long length = found.isDirectory() ? 0 : found.getLen();
            return new Entry(found.getPath(), found.isDirectory(), length, found.getModificationTime(), found);
        }

        Entry stat(Path path) throws IOException {
            try {
                return entry(system.getFileStatus(path));
            } catch (FileNotFoundException absent) {
                return null;
            }
        }

        List children(Path path) throws IOException {
            List entries = new ArrayList();
            try {
                FileStatus[] found = system.listStatus(path);
                for (int i = 0; i < found.length; i++) {
                    entries.add(entry(found[i]));
                }
            } catch (FileNotFoundException absent) {
                return entries;
            }
            return entries;
        }

        ReadableByteChannel read(Path path) throws IOException {
            return new StreamReader(system.open(path));
        }

        WritableByteChannel write(Path path) throws IOException {
            return new StreamWriter(system.create(path, true));
        }

        void mkdirs(Path path) throws IOException {
            if (!system.mkdirs(path)) {
                throw new IOException("cannot make " + path);
            }
        }

        void delete(Path path) throws IOException {
            system.delete(path, true);
        }

        void place(Path from, Path to) throws IOException {
            system.delete(to, false);
            if (!system.rename(from, to)) {
                throw new IOException("cannot rename " + from + " to " + to);
            }
        }

        void dress(Path path, Entry like, boolean owner) throws IOException {
            if (objects()) {
                return;
            }
            if (like.origin instanceof FileStatus) {
                FileStatus found = (FileStatus) like.origin;
                system.setPermission(path, found.getPermission());
                if (owner) {
                    try {
                        system.setOwner(path, found.getOwner(), found.getGroup());
                    } catch (IOException notAllowed) {
                        // Only a superuser may give files away; else they stay the submitter's (FA-S1).
                    }
                }
            }
            system.setTimes(path, like.modified, -1);
        }
    }

    /** A stream as a channel, for heap buffers. */
    static final class StreamReader implements ReadableByteChannel {
        private final InputStream in;

        StreamReader(InputStream in) {
            this.in = in;
        }

        public int read(ByteBuffer buffer) throws IOException {
            int count = in.read(buffer.array(), buffer.position(), buffer.remaining());
            if (count > 0) {
                buffer.position(buffer.position() + count);
            }
            return count;
        }

        public boolean isOpen() {
            return true;
        }

        public void close() throws IOException {
            in.close();
        }
    }

    static final class StreamWriter implements WritableByteChannel {
        private final OutputStream out;

        StreamWriter(OutputStream out) {
            this.out = out;
        }

        public int write(ByteBuffer buffer) throws IOException {
            int count = buffer.remaining();
            out.write(buffer.array(), buffer.position(), count);
            buffer.position(buffer.limit());
            return count;
        }

        public boolean isOpen() {
            return true;
        }

        public void close() throws IOException {
            out.close();
        }
    }
}
