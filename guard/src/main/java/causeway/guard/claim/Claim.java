package causeway.guard.claim;

import causeway.guard.access.Restriction;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.zip.InflaterInputStream;

/**
 * The objects that one statement may read and write, by the proxy's decision. Names are
 * {@code db.table} in lower case. router/claim.py writes the claim.
 */
public final class Claim {
    static final String KEY = "causeway.claim";
    static final int VERSION = 1;
    private static final int NEWEST_VERSION = 5; // parts of later versions are refused, not left out
    private static final String EVERY_TABLE = "*";

    /** What the statement may do. */
    public enum Mode {
        /** Reads and writes what the claim lists. */
        RUN,
        /** Reads anything, writes nothing: a pinned session's statement that was not analysed. */
        READ,
        /** Changes the session, writes nothing: a statement that is repeated in another cluster. */
        SESSION,
        /** Is parsed and then ended. */
        PARSE,
        /** Is parsed and analysed and then ended. */
        ANALYZE,
        /** Is ended at once, with the version of claims that the guard checks. */
        PROBE
    }

    public final Mode mode;
    private final boolean explain;
    private final boolean idle;
    private final boolean script;
    private final Map<String, Selection> reads = new HashMap<>();
    private final Map<String, Selection> writes = new HashMap<>();
    private final Set<String> marks = new HashSet<>();
    private final Set<String> opened = new HashSet<>();
    private final Set<String> databases = new HashSet<>();
    private final Map<String, ChangeRange> changes = new HashMap<>(); // null: incremental without a range
    private final Map<String, Set<String>> unless = new HashMap<>();
    private final Map<String, Restriction> restricted = new HashMap<>();
    private final Set<String> unread = new HashSet<>();
    private final List<String> pathsRead = new ArrayList<>();
    private final List<String> pathsWritten = new ArrayList<>();
    private final List<String> tableFolders = new ArrayList<>();
    private boolean hasExplained;

    private Claim(JsonNode json) {
        int version = json.path("v").asInt();
        if (version < VERSION || version > NEWEST_VERSION) {
            throw unreadable("it has version " + json.path("v").asText()
                    + ", this server checks version " + NEWEST_VERSION);
        }
        mode = Mode.valueOf(json.path("mode").asText("run").toUpperCase(Locale.ROOT));
        explain = json.path("explain").asBoolean();
        idle = json.path("idle").asBoolean();
        script = json.path("script").asBoolean();
        addSelections(json.path("reads"), reads);
        addSelections(json.path("writes"), writes);
        addTexts(json.path("marks"), marks);
        addTexts(json.path("opens"), opened);
        addTexts(json.path("databases"), databases);
        addTexts(json.path("paths"), pathsRead);
        addTexts(json.path("outs"), pathsWritten);
        for (Iterator<Map.Entry<String, JsonNode>> each = json.path("changes").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            JsonNode range = entry.getValue();
            changes.put(entry.getKey(), range.isNull() ? null : new ChangeRange(range));
        }
        for (Iterator<Map.Entry<String, JsonNode>> each = json.path("unless").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            Set<String> names = new HashSet<>();
            addTexts(entry.getValue(), names);
            unless.put(entry.getKey(), names);
        }
        String user = json.path("user").asText();
        for (Iterator<Map.Entry<String, JsonNode>> each = json.path("restricted").fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            restricted.put(entry.getKey(), new Restriction(entry.getValue(), user));
        }
        addTexts(json.path("unread"), unread);
    }

    /** Reads JSON, or JSON that is deflated and in base64. Throws ClaimException. */
    static Claim parse(String text) {
        try {
            ObjectMapper mapper = new ObjectMapper();
            if (text.startsWith("{")) {
                return new Claim(mapper.readTree(text));
            }
            byte[] packed = Base64.getDecoder().decode(text);
            try (InputStream json = new InflaterInputStream(new ByteArrayInputStream(packed))) {
                return new Claim(mapper.readTree(json));
            }
        } catch (IOException | IllegalArgumentException error) {
            throw unreadable(error.getMessage());
        }
    }

    private static ClaimException unreadable(String why) {
        return new ClaimException(
                ClaimException.UNREADABLE, "The claim of the statement cannot be read: " + why + ".");
    }

    /** Whether the statement ends before it runs, at the latest when it has been analysed. */
    public boolean runsNothing() {
        return mode == Mode.PARSE || mode == Mode.ANALYZE || mode == Mode.PROBE;
    }

    /** Returns the partitions that may be read; null if the claim does not list the table. */
    public Selection read(String table) {
        Selection selection = reads.get(table);
        return selection == null && writes.containsKey(table) ? Selection.WRITTEN : selection;
    }

    /** Returns the partitions that may be written; null if the claim does not list the table as written. */
    public Selection written(String table) {
        return writes.get(table);
    }

    /** Whether the claim says of some Hudi table that it is, or must not be, read as a whole. */
    public boolean hasRanges() {
        return !changes.isEmpty() || !unless.isEmpty();
    }

    /**
     * Returns names of Hudi tables. The table may not be read as a whole if one of them is Hudi's own name
     * of it.
     */
    public Set<String> hudiNamesRefused(String table) {
        Set<String> names = unless.get(table);
        return names != null ? names : unless.getOrDefault(EVERY_TABLE, Collections.emptySet());
    }

    /**
     * Whether the table may only be read incrementally. The claim of a statement that was not analysed
     * has the table's name without its database.
     */
    public boolean isIncremental(String table) {
        return changes.containsKey(table)
                || changes.containsKey(table.substring(table.indexOf('.') + 1));
    }

    /** Returns the range of the table that the statement reads; null if the claim has none. */
    public ChangeRange range(String table) {
        return changes.get(table);
    }

    /** Whether rules of the operator show the user only a part of some table. */
    public boolean restricts() {
        return !restricted.isEmpty() || !unread.isEmpty();
    }

    /** Returns the part of the table that the user may see; null if that is all of it. */
    public Restriction restriction(String table) {
        return restricted.get(table);
    }

    /** Whether the statement only writes the table, and its user may see a part of it alone. */
    public boolean isUnread(String table) {
        return unread.contains(table);
    }

    /** Whether the statement may read a copy of the table: by its decision, or for lack of one. */
    public boolean readsCopy(String table) {
        Selection claimed = read(table);
        return claimed == null || claimed.readsCopy();
    }

    /** Returns the tables that the statement may read or write. */
    public Set<String> tables() {
        Set<String> all = new TreeSet<>(reads.keySet());
        all.addAll(writes.keySet());
        return all;
    }

    public Set<String> tablesWritten() {
        return writes.keySet();
    }

    /** Whether the statement may read through the view. */
    public boolean opens(String view) {
        return opened.contains(view);
    }

    public Set<String> opened() {
        return opened;
    }

    /** Whether the statement is a script, whose handlers may catch Spark's own errors. */
    public boolean isScript() {
        return script;
    }

    /** Whether the statement only changes views or clears the cache: plans are analysed, none reads data. */
    public boolean readsNoData() {
        return idle;
    }

    public boolean writesDatabase(String database) {
        return databases.contains(database.toLowerCase(Locale.ROOT));
    }

    /** Whether {@code causeway.open.<id>} is the mark of a write of this statement. */
    public boolean hasMark(String id) {
        return marks.contains(id);
    }

    public Set<String> marks() {
        return marks;
    }

    public List<String> pathsRead() {
        return pathsRead;
    }

    public List<String> pathsWritten() {
        return pathsWritten;
    }

    /** Allows writes of a folder, which a command of the statement writes in a plan of its own. */
    public void alsoWrites(String path) {
        pathsWritten.add(path);
    }

    /** Adds the folder of a claimed table, whose format reads its files by path. */
    public void addTableFolder(String path) {
        tableFolders.add(path);
    }

    public List<String> tableFolders() {
        return tableFolders;
    }

    /** Allows reads through a temporary view, which a command of the statement creates. */
    public void alsoOpens(String view) {
        opened.add(view);
    }

    /** Records that Spark has begun to explain a statement. */
    public void beginExplain() {
        hasExplained = true;
    }

    /** Whether the claim is of an EXPLAIN and Spark has not yet begun to explain, so it would run a plan. */
    public boolean isOnlyExplained() {
        return explain && !hasExplained;
    }

    /** Whether the statement may read descriptions of tables, no rows, and write nothing. */
    public boolean isDescription() {
        return !reads.isEmpty() && writes.isEmpty()
                && reads.values().stream().allMatch(Selection::isNone);
    }

    /** Returns the tables that may be read and written, for messages. */
    public String describe() {
        return "it reads " + names(reads) + " and writes " + names(writes);
    }

    private static String names(Map<String, ?> tables) {
        return tables.isEmpty() ? "nothing" : String.join(", ", tables.keySet());
    }

    private static void addSelections(JsonNode json, Map<String, Selection> target) {
        for (Iterator<Map.Entry<String, JsonNode>> each = json.fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> entry = each.next();
            target.put(entry.getKey(), new Selection(entry.getValue()));
        }
    }

    private static void addTexts(JsonNode json, java.util.Collection<String> target) {
        for (JsonNode each : json) {
            target.add(each.asText());
        }
    }
}
