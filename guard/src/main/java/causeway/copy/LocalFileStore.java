package causeway.copy;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * The files of this machine, by java.nio. Hadoop's local file system would start a process for each
 * permission, and hides .crc files.
 */
final class LocalFileStore implements FileStore {
    private static java.nio.file.Path local(Path path) {
        return java.nio.file.Paths.get(path.toUri().getPath());
    }

    @Override
    public boolean isObjectStore() {
        return false;
    }

    @Override
    public boolean isLocal() {
        return true;
    }

    @Override
    public FileInfo stat(Path path) throws IOException {
        PosixFileAttributes attributes;
        try {
            attributes = Files.readAttributes(local(path), PosixFileAttributes.class);
        } catch (NoSuchFileException absent) {
            return null;
        }
        return new FileInfo(
                path, attributes.isDirectory(), attributes.size(),
                attributes.lastModifiedTime().toMillis(), attributes);
    }

    @Override
    public List<FileInfo> children(Path path) throws IOException {
        List<FileInfo> children = new ArrayList<>();
        try (DirectoryStream<java.nio.file.Path> names = Files.newDirectoryStream(local(path))) {
            for (java.nio.file.Path child : names) {
                // Not new Path(name), which would read a name with a colon as a scheme.
                Path name = new Path(null, null, child.getFileName().toString());
                FileInfo info = stat(new Path(path, name));
                if (info != null) {
                    children.add(info);
                }
            }
        } catch (NoSuchFileException absent) {
            return children;
        }
        return children;
    }

    @Override
    public FileChannel read(Path path) throws IOException {
        return FileChannel.open(local(path), StandardOpenOption.READ);
    }

    @Override
    public FileChannel write(Path path) throws IOException {
        return FileChannel.open(
                local(path),
                StandardOpenOption.WRITE,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING);
    }

    @Override
    public void mkdirs(Path path) throws IOException {
        Files.createDirectories(local(path));
    }

    @Override
    public void delete(Path path) throws IOException {
        FileInfo info = stat(path);
        if (info != null && info.directory && !Files.isSymbolicLink(local(path))) {
            for (FileInfo child : children(path)) {
                delete(child.path);
            }
        }
        Files.deleteIfExists(local(path));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        Files.move(local(from), local(to), StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void copyAttributes(Path path, FileInfo like, boolean owner) throws IOException {
        PosixFileAttributeView view =
                Files.getFileAttributeView(local(path), PosixFileAttributeView.class);
        if (like.attributes instanceof PosixFileAttributes) {
            PosixFileAttributes source = (PosixFileAttributes) like.attributes;
            view.setPermissions(source.permissions());
            if (owner) {
                copyOwner(view, source);
            }
        } else {
            String bits = ((FileStatus) like.attributes).getPermission().toString();
            view.setPermissions(PosixFilePermissions.fromString(bits.substring(0, 9)));
        }
        view.setTimes(FileTime.fromMillis(like.modified), null, null);
    }

    private static void copyOwner(PosixFileAttributeView view, PosixFileAttributes source)
            throws IOException {
        try {
            PosixFileAttributes current = view.readAttributes();
            if (!current.owner().equals(source.owner())) {
                view.setOwner(source.owner());
            }
            if (!current.group().equals(source.group())) {
                view.setGroup(source.group());
            }
        } catch (FileSystemException notAllowed) {
            // Only a superuser may change owners; otherwise the submitter keeps the files (FA-S1).
        }
    }
}
