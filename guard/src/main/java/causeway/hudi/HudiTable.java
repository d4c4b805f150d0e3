package causeway.hudi;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** One Hudi table. Its timeline is listed once, and each commit's file is read once, on first use. */
final class HudiTable {
    private static final String META = ".hoodie";
    private static final String PARTITION_MARK = ".hoodie_partition_metadata";
    private static final int NEWEST_VERSION = 9;

    final Path base;

    /** Whether the table has timeline layout 2, which has completion times. */
    final boolean hasCompletions;

    private final FileSystem files;
    private final Properties properties;
    private final Path folder;
    private final Map<String, CommitMetadata> commits = new HashMap<>();
    private Timeline timeline;

    private HudiTable(Path base, FileSystem files, Properties properties) {
        this.base = base;
        this.files = files;
        this.properties = properties;
        hasCompletions = property("hoodie.timeline.layout.version", "1").equals("2");
        Path meta = new Path(base, META);
        folder = hasCompletions ? new Path(meta, property("hoodie.timeline.path", "timeline")) : meta;
    }

    /**
     * Returns the table with this base folder; null if the folder is none of a table. Throws
     * HudiReadException for a table that is not supported or has no properties, IOException.
     */
    static HudiTable open(Path base, Configuration conf) throws IOException {
        FileSystem files = base.getFileSystem(conf);
        Path meta = new Path(base, META);
        if (!files.exists(meta)) {
            return null;
        }
        Properties properties = TableProperties.read(files, meta);
        if (properties == null) { // its files may be those of several versions
            throw new HudiReadException(HudiReadException.DAMAGED,
                    base + " has a folder " + META + " without hoodie.properties.");
        }
        checkSupported(base, properties);
        return new HudiTable(files.makeQualified(base), files, properties);
    }

    private static void checkSupported(Path base, Properties properties) throws HudiReadException {
        String version = properties.getProperty("hoodie.table.version", "0").trim();
        String layout = properties.getProperty("hoodie.timeline.layout.version", "1").trim();
        String bootstrap = properties.getProperty("hoodie.bootstrap.base.path", "");
        if (!version.matches("[0-9]{1,9}") || Integer.parseInt(version) > NEWEST_VERSION) {
            throw new HudiReadException(HudiReadException.UNSUPPORTED, base + " has table version "
                    + version + "; up to " + NEWEST_VERSION + " is known.");
        }
        if (!layout.equals("1") && !layout.equals("2")) {
            throw new HudiReadException(HudiReadException.UNSUPPORTED,
                    base + " has timeline layout " + layout + "; 1 and 2 are known.");
        }
        if (!bootstrap.isEmpty()) {
            throw new HudiReadException(HudiReadException.UNSUPPORTED, base + " was bootstrapped from "
                    + bootstrap + ", which has its rows. Read it by Hudi.");
        }
    }

    private String property(String key, String otherwise) {
        return properties.getProperty(key, otherwise).trim();
    }

    String name() {
        return property("hoodie.table.name", "");
    }

    String database() {
        return property("hoodie.database.name", "");
    }

    boolean isMergeOnRead() {
        return property("hoodie.table.type", "").equals("MERGE_ON_READ");
    }

    /** Whether rows have {@code _hoodie_commit_time}, the commit of a row. */
    boolean hasCommitTimes() {
        return !property("hoodie.populate.meta.fields", "true").equalsIgnoreCase("false");
    }

    private boolean isPartitioned() {
        return !property("hoodie.table.partition.fields", "").isEmpty();
    }

    /** Returns the timeline, which is listed on first use. */
    Timeline timeline() throws IOException {
        if (timeline == null) {
            timeline = Timeline.of(names(folder));
        }
        return timeline;
    }

    /** Whether the table has an archive of commits that the active timeline lacks. */
    boolean hasArchive() throws IOException {
        Path archive = hasCompletions
                ? new Path(folder, property("hoodie.timeline.history.path", "history"))
                : new Path(folder, property("hoodie.archivelog.folder", "archived"));
        return !names(archive).isEmpty();
    }

    /** Returns the names of a folder's files; none if it does not exist. */
    private List<String> names(Path path) throws IOException {
        List<String> names = new ArrayList<>();
        try {
            for (FileStatus each : files.listStatus(path)) {
                names.add(each.getPath().getName());
            }
        } catch (FileNotFoundException missing) {
            return names;
        }
        return names;
    }

    /** Returns the metadata of a commit, which is read on first use. */
    CommitMetadata commit(Instant commit) throws IOException {
        CommitMetadata metadata = commits.get(commit.file);
        if (metadata == null) {
            metadata = new CommitMetadata(
                    TimelineFiles.read(files, new Path(folder, commit.file)), commit.file);
            commits.put(commit.file, metadata);
        }
        return metadata;
    }

    /** Returns the oldest commit whose files a clean kept; empty if the clean does not record it. */
    String earliestRetained(Instant clean) throws IOException {
        return TimelineFiles.read(files, new Path(folder, clean.file))
                .path("earliestCommitToRetain").asText("");
    }

    /** Returns the partition's folder. Its name may have colons, so it is no relative Path. */
    Path path(String partition) {
        String root = base.toUri().getPath();
        return partition.isEmpty() ? base : new Path(
                base.toUri().getScheme(), base.toUri().getAuthority(), root + "/" + partition);
    }

    /** Returns the path of a folder relative to the base; empty for the base itself. */
    String relative(Path path) {
        String below = path.toUri().getPath().substring(base.toUri().getPath().length());
        return below.startsWith("/") ? below.substring(1) : below;
    }

    /** Returns the direct children of a folder by one list call; none if it does not exist. */
    List<LocatedFileStatus> list(Path path) throws IOException {
        List<LocatedFileStatus> entries = new ArrayList<>();
        RemoteIterator<LocatedFileStatus> children;
        try {
            children = files.listLocatedStatus(path);
        } catch (FileNotFoundException missing) {
            return entries;
        }
        while (children.hasNext()) {
            entries.add(children.next());
        }
        return entries;
    }

    /** Returns the partitions at or below a folder with their files, by one list call for each folder. */
    Map<String, List<FileStatus>> partitions(String under) throws IOException {
        Map<String, List<FileStatus>> partitions = new LinkedHashMap<>();
        Deque<String> waiting = new ArrayDeque<>();
        waiting.add(under);
        while (!waiting.isEmpty()) {
            String partition = waiting.remove();
            List<FileStatus> own = new ArrayList<>();
            List<String> below = new ArrayList<>();
            boolean isPartition = !isPartitioned();
            for (FileStatus each : list(path(partition))) {
                String name = each.getPath().getName();
                if (each.isFile()) {
                    own.add(each);
                    isPartition |= name.startsWith(PARTITION_MARK);
                } else if (!name.equals(META)) {
                    below.add(partition.isEmpty() ? name : partition + "/" + name);
                }
            }
            if (isPartition) {
                partitions.put(partition, own);
            } else {
                waiting.addAll(below);
            }
        }
        return partitions;
    }
}
