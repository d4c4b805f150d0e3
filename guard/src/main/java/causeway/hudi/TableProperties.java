package causeway.hudi;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.zip.CRC32;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The properties of a Hudi table. Hudi replaces {@code hoodie.properties} in four steps: it writes a
 * backup, deletes the properties, writes the new ones, and deletes the backup. So a reader may find an
 * incomplete file, or neither of the two. {@code pipeline/hudi/table/properties.py} has the same rules.
 */
public final class TableProperties {
    private static final String NAME = "hoodie.properties";
    private static final String[] TRIED = {NAME, NAME + ".backup", NAME};
    private static final int ATTEMPTS = 5;
    private static final long PAUSE = 1000; // milliseconds
    private static final int FIRST_WITH_CHECKSUM = 4; // version of a table

    private TableProperties() {}

    /**
     * Returns the complete properties, or their backup; null if there are neither. Waits a few seconds
     * while both are incomplete. Throws HudiReadException if they stay so, IOException.
     *
     * @param meta the table's folder {@code .hoodie}
     */
    public static Properties read(FileSystem files, Path meta) throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            if (attempt > 0) {
                pause();
            }
            boolean exists = false;
            for (String name : TRIED) {
                Properties properties = load(files, new Path(meta, name));
                if (properties != null && isComplete(properties)) {
                    return properties;
                }
                exists |= properties != null;
            }
            if (!exists) {
                return null;
            }
        }
        throw new HudiReadException(HudiReadException.DAMAGED,
                new Path(meta, NAME) + " is incomplete, and there is no complete backup of it.");
    }

    private static Properties load(FileSystem files, Path path) throws IOException {
        Properties properties = new Properties();
        try (InputStream content = files.open(path)) {
            properties.load(content);
        } catch (FileNotFoundException missing) {
            return null;
        }
        return properties;
    }

    /** Returns whether the checksum fits, which Hudi computes from the names of database and table. */
    private static boolean isComplete(Properties properties) {
        String table = properties.getProperty("hoodie.table.name", "");
        String checksum = properties.getProperty("hoodie.table.checksum");
        if (checksum == null) {
            String version = properties.getProperty("hoodie.table.version", "0").trim();
            boolean isOld = version.matches("[0-9]{1,9}")
                    && Integer.parseInt(version) < FIRST_WITH_CHECKSUM;
            return isOld && !table.isEmpty();
        }
        String names = properties.getProperty("hoodie.database.name", "") + "." + table;
        CRC32 crc = new CRC32();
        crc.update(names.getBytes(StandardCharsets.UTF_8));
        return checksum.trim().equals(Long.toString(crc.getValue()));
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(PAUSE);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while a table's properties were replaced");
        }
    }
}
