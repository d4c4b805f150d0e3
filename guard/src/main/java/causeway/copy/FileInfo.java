package causeway.copy;

import org.apache.hadoop.fs.Path;

/** One file or directory as its file system describes it. Times are in epoch milliseconds. */
final class FileInfo {
    final Path path;
    final boolean directory;
    final long length;
    final long modified;

    /** PosixFileAttributes of a local file, Hadoop's FileStatus of any other. */
    final Object attributes;

    FileInfo(Path path, boolean directory, long length, long modified, Object attributes) {
        this.path = path;
        this.directory = directory;
        this.length = directory ? 0 : length;
        this.modified = modified;
        this.attributes = attributes;
    }
}
