package causeway.copy;

import java.io.IOException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** The operations of a file system that a copy needs. */
interface FileStore {
    /** A channel of a file that does not appear if it is abandoned before it is closed. */
    interface Abandonable {
        void abandon();
    }

    /** True for an object store: a file appears whole or not at all, and its time cannot be set. */
    boolean isObjectStore();

    /** True where channels are FileChannels, which take direct buffers. */
    boolean isLocal();

    /** Null when nothing exists at the path. */
    FileInfo stat(Path path) throws IOException;

    /** The direct children; empty when the directory does not exist. */
    List<FileInfo> children(Path path) throws IOException;

    ReadableByteChannel read(Path path) throws IOException;

    /** Replaces an existing file. */
    WritableByteChannel write(Path path) throws IOException;

    void mkdirs(Path path) throws IOException;

    /** Deletes a file, or a directory with all below it; no error when nothing exists. */
    void delete(Path path) throws IOException;

    /** Renames a file over the target, in one step where the file system can. */
    void rename(Path from, Path to) throws IOException;

    /** Sets the permission and time of {@code like}, and with {@code owner} its owner, where allowed. */
    void copyAttributes(Path path, FileInfo like, boolean owner) throws IOException;
}
