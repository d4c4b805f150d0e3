package causeway.copy;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.Path;

/**
 * One file to copy, read from a line: index, source, target, and the source's length and modification time
 * as listed; separated by tabs, paths URL-encoded.
 */
final class FileCopy {
    final String index;
    final Path source;
    final Path target;
    final long length;
    final long modified;

    FileCopy(String line) {
        String[] fields = line.split("\t", -1);
        index = fields[0];
        source = new Path(decode(fields[1]));
        target = new Path(decode(fields[2]));
        length = Long.parseLong(fields[3]);
        modified = Long.parseLong(fields[4]);
    }

    /** Whether a file has the length and time of the source as listed. */
    boolean matches(FileInfo info) {
        return info != null && info.length == length && info.modified == modified;
    }

    /** Returns a line of the result: index, status, bytes sent, checksum (hexadecimal), message. */
    String result(String status, long sent, long checksum, String message) {
        return String.join(
                "\t", index, status, Long.toString(sent), Long.toHexString(checksum), encode(message));
    }

    static String decode(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
