package causeway.copy;

import java.io.IOException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** The operations of a file system that a copy needs. */
interface FileStore {
    /** A channel to a file which can be abandoned before its close, so that the file does not appear. */
    interface Abandonable {
        void abandon();
    }

    /** Whether a file appears whole or not at all, and its time cannot be set. */
    boolean isObjectStore();

    /** Whether channels are FileChannels, which take direct buffers. */
    boolean isLocal();

    /** Returns the file or directory; null if nothing exists at the path. */
    FileInfo stat(Path path) throws IOException;

    /** Returns the direct children; none if the directory does not exist. */
    List<FileInfo> children(Path path) throws IOException;

    ReadableByteChannel read(Path path) throws IOException;

    /** Creates a file, or replaces an existing one. */
    WritableByteChannel write(Path path) throws IOException;

    void mkdirs(Path path) throws IOException;

    /** Deletes a file, or a directory with all below it, if it exists. */
    void delete(Path path) throws IOException;

    /** Renames a file over the target, atomically if the file system can. */
    void rename(Path from, Path to) throws IOException;

    /** Sets the permission and time to those of {@code like}, and with {@code owner} the owner, if allowed. */
    void copyAttributes(Path path, FileInfo like, boolean owner) throws IOException;
}
