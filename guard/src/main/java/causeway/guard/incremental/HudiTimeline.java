package causeway.guard.incremental;

import causeway.hudi.TableProperties;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The completed commits on the active timeline of a Hudi table, read from the names of its files.
 *
 * <p>Layout 1 (table version 6 and older) keeps {@code .hoodie/<requested>.<action>[.<state>]}, layout 2
 * keeps {@code .hoodie/timeline/<requested>[_<completion>].<action>[.<state>]}. pipeline/hudi/table reads
 * the same for pulls. {@code causeway.hudi.Timeline} is the timeline of Hive-style readers: it needs running
 * actions and cleans, orders by request time, and is of tables that {@code HudiTable} supports alone. Here
 * Hudi reads the files itself, of each table that it supports, and ranges of layout 2 are of completion times.
 */
public final class HudiTimeline {
    private static final String META = ".hoodie";
    private static final Pattern COMPLETED = Pattern.compile("(\\d+)(?:_(\\d+))?\\.([a-z]+)");
    private static final Set<String> COMMITS =
            new HashSet<>(Arrays.asList("commit", "deltacommit", "replacecommit", "clustering"));

    /** A completed commit. Its key is the instant by which ranges select it. */
    static final class Commit {
        final String requested;
        final String key;

        Commit(String requested, String key) {
            this.requested = requested;
            this.key = key;
        }
    }

    /** Whether ranges are of completion times (layout 2) or of request times (layout 1). */
    final boolean byCompletion;

    /** The commits in the order of their keys. */
    final List<Commit> commits;

    /** Request times of commits with a savepoint, which stay when later ones are archived. */
    final Set<String> saved;

    /** Whether the table has an archive of older commits. */
    final boolean hasArchive;

    private HudiTimeline(
            boolean byCompletion, List<Commit> commits, Set<String> saved, boolean hasArchive) {
        this.byCompletion = byCompletion;
        this.commits = commits;
        this.saved = saved;
        this.hasArchive = hasArchive;
    }

    /** Reads the timeline of the table at {@code base}. Throws IOException. */
    static HudiTimeline read(Path base, Configuration conf) throws IOException {
        FileSystem files = base.getFileSystem(conf);
        Path meta = new Path(base, META);
        Properties properties = properties(files, meta);
        boolean byCompletion =
                Integer.parseInt(properties.getProperty("hoodie.timeline.layout.version", "1")) >= 2;
        Path folder = byCompletion
                ? new Path(meta, properties.getProperty("hoodie.timeline.path", "timeline")) : meta;
        Path archive = byCompletion
                ? new Path(folder, properties.getProperty("hoodie.timeline.history.path", "history"))
                : new Path(meta, properties.getProperty("hoodie.archivelog.folder", "archived"));
        return of(names(files, folder), byCompletion, !names(files, archive).isEmpty());
    }

    /**
     * Returns Hudi's own names of the table at {@code base}, without and with its database, in lower
     * case; none if the folder is none of a Hudi table. Throws IOException.
     */
    static Set<String> tableNames(Path base, Configuration conf) throws IOException {
        Set<String> names = new HashSet<>();
        FileSystem files = base.getFileSystem(conf);
        Path meta = new Path(base, META);
        if (files.exists(meta)) {
            Properties properties = properties(files, meta);
            String name = properties.getProperty("hoodie.table.name", "").toLowerCase(Locale.ROOT);
            names.add(name);
            names.add(properties.getProperty("hoodie.database.name", "").toLowerCase(Locale.ROOT)
                    + "." + name);
        }
        return names;
    }

    /** Returns the timeline with these file names. Names of other files are skipped. */
    public static HudiTimeline of(Collection<String> names, boolean byCompletion, boolean hasArchive) {
        List<Commit> commits = new ArrayList<>();
        Set<String> saved = new HashSet<>();
        for (String name : names) {
            Matcher parts = COMPLETED.matcher(name);
            if (!parts.matches()) {
                continue;
            }
            if (parts.group(3).equals("savepoint")) {
                saved.add(parts.group(1));
            } else if (COMMITS.contains(parts.group(3))) {
                String completion = parts.group(2) == null ? parts.group(1) : parts.group(2);
                commits.add(new Commit(parts.group(1), byCompletion ? completion : parts.group(1)));
            }
        }
        commits.sort(Comparator.comparing(each -> each.key));
        return new HudiTimeline(byCompletion, commits, saved, hasArchive);
    }

    private static Properties properties(FileSystem files, Path meta) throws IOException {
        Properties properties = TableProperties.read(files, meta);
        if (properties == null) {
            throw new FileNotFoundException(meta + " has no hoodie.properties.");
        }
        return properties;
    }

    /** Returns the names of a folder's files; none if it does not exist. */
    private static List<String> names(FileSystem files, Path folder) throws IOException {
        List<String> names = new ArrayList<>();
        try {
            for (FileStatus each : files.listStatus(folder)) {
                names.add(each.getPath().getName());
            }
        } catch (FileNotFoundException missing) {
            return names;
        }
        return names;
    }
}
