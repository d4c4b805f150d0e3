package causeway.hudi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The actions on the active timeline of a table, from the names of its files.
 *
 * <p>Layout 1 (table version 6 and older) keeps {@code .hoodie/<requested>.<action>[.<state>]}, layout 2
 * keeps {@code .hoodie/timeline/<requested>[_<completion>].<action>[.<state>]}. One action has up to
 * three files. pipeline/hudi/table/timeline.py has the same rules.
 */
final class Timeline {
    static final String REPLACE = "replacecommit";

    private static final Pattern NAME =
            Pattern.compile("(\\d+)(?:_(\\d+))?\\.(?:([a-z]+)|([a-z]+)\\.(?:requested|inflight))");
    private static final String COMMIT = "commit";
    private static final String CLUSTERING = "clustering";
    private static final String COMPACTION = "compaction";
    private static final String SAVEPOINT = "savepoint";
    private static final Set<String> WRITES =
            new HashSet<>(Arrays.asList(COMMIT, "deltacommit", REPLACE, CLUSTERING));

    /** Completed commits in the order of their requests. */
    final List<Instant> commits = new ArrayList<>();

    /** Running actions in the order of their requests. */
    final List<Instant> running = new ArrayList<>();

    /** Completed cleans in the order of their requests. */
    final List<Instant> cleans = new ArrayList<>();

    private final Map<String, Instant> done = new HashMap<>();
    private final Set<String> active = new HashSet<>();
    private final String start;

    private Timeline(List<Instant> every, Set<String> saved) {
        List<String> writes = new ArrayList<>();
        for (Instant each : every) {
            active.add(each.requested);
            boolean isWrite = WRITES.contains(each.action);
            if (isWrite) {
                writes.add(each.requested);
            }
            if (!each.isCompleted) {
                running.add(each);
            } else if (isWrite) {
                commits.add(each);
                done.put(each.requested, each);
            } else if (each.action.equals("clean")) {
                cleans.add(each);
            }
        }
        String oldest = writes.isEmpty() ? "" : writes.get(0);
        start = writes.stream().filter(each -> !saved.contains(each)).findFirst().orElse(oldest);
    }

    /** Returns the timeline with these file names. Names of other files are skipped. */
    static Timeline of(Collection<String> names) {
        List<Instant> every = new ArrayList<>();
        List<Instant> states = new ArrayList<>();
        Set<String> known = new HashSet<>();
        Set<String> saved = new HashSet<>();
        for (String name : names) {
            Instant each = parse(name);
            if (each == null) {
                continue;
            }
            if (each.action.equals(SAVEPOINT)) {
                saved.add(each.requested);
            } else if (each.isCompleted) {
                every.add(each);
                known.add(each.requested);
            } else {
                states.add(each);
            }
        }
        Set<String> begun = new HashSet<>();
        for (Instant each : states) {
            if (!known.contains(each.requested) && begun.add(each.requested + each.action)) {
                every.add(each);
            }
        }
        every.sort(Comparator.comparing((Instant each) -> each.requested));
        return new Timeline(every, saved);
    }

    private static Instant parse(String name) {
        Matcher parts = NAME.matcher(name);
        if (!parts.matches()) {
            return null;
        }
        String completion = parts.group(2) == null ? "" : parts.group(2);
        String last = parts.group(3);
        if (last == null) {
            return new Instant(parts.group(1), completion, parts.group(4), false, name);
        }
        // A running `commit` has the state alone.
        boolean isState = last.equals("inflight") || last.equals("requested");
        return new Instant(parts.group(1), completion, isState ? COMMIT : last, !isState, name);
    }

    /**
     * Returns the request of the oldest commit without a savepoint: older files belong to complete
     * commits of the archive. Empty without commits.
     */
    String start() {
        return start;
    }

    /** Whether the commit that was requested then is complete, archived or not. */
    boolean isVisible(String requested) {
        return done.containsKey(requested)
                || !active.contains(requested) && requested.compareTo(start) < 0;
    }

    /** Returns the complete commit that was requested then; null where the active timeline has none. */
    Instant commit(String requested) {
        return done.get(requested);
    }

    /** Returns the requests of all running actions. */
    Set<String> pending() {
        Set<String> found = new HashSet<>();
        running.forEach(each -> found.add(each.requested));
        return found;
    }

    /**
     * Returns the commits that a reader of base files may continue after: those before a pending
     * compaction, and those before a running write. Throws HudiReadException where commits are behind
     * a running write and the reader wants to fail then.
     */
    List<Instant> visible(ReadSettings settings) throws HudiReadException {
        List<Instant> found = commits;
        Instant compaction = first(Collections.singleton(COMPACTION));
        if (settings.stopsAtCompaction && compaction != null) {
            found = before(found, compaction);
        }
        Set<String> writes = new HashSet<>(WRITES);
        writes.remove(CLUSTERING); // in layout 2, where it writes no new rows
        Instant write = first(writes);
        if (write == null || settings.holes.equals("USE_TRANSITION_TIME")) {
            return found;
        }
        List<Instant> earlier = before(found, write);
        if (earlier.size() < found.size() && !settings.holes.equals("BLOCK")) {
            throw new HudiReadException(HudiReadException.HOLLOW, "The commit " + write.requested
                    + " is running, and later ones are complete. Wait for it, or set "
                    + ReadSettings.HOLES + "=BLOCK.");
        }
        return earlier;
    }

    private Instant first(Set<String> actions) {
        return running.stream().filter(each -> actions.contains(each.action)).findFirst().orElse(null);
    }

    private static List<Instant> before(List<Instant> commits, Instant limit) {
        List<Instant> found = new ArrayList<>();
        for (Instant each : commits) {
            if (each.requested.compareTo(limit.requested) < 0) {
                found.add(each);
            }
        }
        return found;
    }
}
