package causeway.copy;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;

/** A file system of Hadoop. Its channels take heap buffers only. */
final class HadoopFileStore implements FileStore {
    private static final Set<String> OBJECT_STORES =
            new HashSet<>(Arrays.asList("s3", "s3a", "s3n", "gs", "oss", "cosn", "obs"));

    private final FileSystem system;

    HadoopFileStore(FileSystem system) {
        this.system = system;
    }

    @Override
    public boolean isObjectStore() {
        return OBJECT_STORES.contains(system.getUri().getScheme());
    }

    @Override
    public boolean isLocal() {
        return false;
    }

    private static FileInfo info(FileStatus status) {
        return new FileInfo(
                status.getPath(),
                status.isDirectory(),
                status.getLen(),
                status.getModificationTime(),
                status);
    }

    @Override
    public FileInfo stat(Path path) throws IOException {
        try {
            return info(system.getFileStatus(path));
        } catch (FileNotFoundException absent) {
            return null;
        }
    }

    @Override
    public List<FileInfo> children(Path path) throws IOException {
        List<FileInfo> children = new ArrayList<>();
        try {
            for (FileStatus status : system.listStatus(path)) {
                children.add(info(status));
            }
        } catch (FileNotFoundException absent) {
            return children;
        }
        return children;
    }

    @Override
    public ReadableByteChannel read(Path path) throws IOException {
        return new StreamReader(system.open(path));
    }

    @Override
    public WritableByteChannel write(Path path) throws IOException {
        return new StreamWriter(system.create(path, true));
    }

    @Override
    public void mkdirs(Path path) throws IOException {
        if (!system.mkdirs(path)) {
            throw new IOException("cannot make " + path);
        }
    }

    @Override
    public void delete(Path path) throws IOException {
        system.delete(path, true);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        system.delete(to, false);
        if (!system.rename(from, to)) {
            throw new IOException("cannot rename " + from + " to " + to);
        }
    }

    @Override
    public void copyAttributes(Path path, FileInfo like, boolean owner) throws IOException {
        if (isObjectStore()) {
            return;
        }
        if (like.attributes instanceof FileStatus) {
            FileStatus source = (FileStatus) like.attributes;
            system.setPermission(path, source.getPermission());
            if (owner) {
                copyOwner(path, source);
            }
        }
        system.setTimes(path, like.modified, -1);
    }

    private void copyOwner(Path path, FileStatus source) {
        try {
            system.setOwner(path, source.getOwner(), source.getGroup());
        } catch (IOException notAllowed) {
            // Only a superuser may change owners; otherwise the submitter keeps the files (FA-S1).
        }
    }

    /** An input stream as a channel. */
    private static final class StreamReader implements ReadableByteChannel {
        private final InputStream in;

        StreamReader(InputStream in) {
            this.in = in;
        }

        @Override
        public int read(ByteBuffer buffer) throws IOException {
            int count = in.read(buffer.array(), buffer.position(), buffer.remaining());
            if (count > 0) {
                buffer.position(buffer.position() + count);
            }
            return count;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }

    /** An output stream as a channel. */
    private static final class StreamWriter implements WritableByteChannel, FileStore.Abandonable {
        private final FSDataOutputStream out;

        StreamWriter(FSDataOutputStream out) {
            this.out = out;
        }

        @Override
        public void abandon() {
            if (out.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) {
                out.abort();
            }
        }

        @Override
        public int write(ByteBuffer buffer) throws IOException {
            int count = buffer.remaining();
            out.write(buffer.array(), buffer.position(), count);
            buffer.position(buffer.limit());
            return count;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
