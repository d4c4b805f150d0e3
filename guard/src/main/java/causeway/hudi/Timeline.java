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
 * The actions of a table's active timeline, read from the names of its files.
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

    /** Completed commits in the order of their request times. */
    final List<Instant> commits = new ArrayList<>();

    /** Running actions in the order of their request times. */
    final List<Instant> running = new ArrayList<>();

    /** Completed cleans in the order of their request times. */
    final List<Instant> cleans = new ArrayList<>();

    private final Map<String, Instant> done = new HashMap<>();
    private final Set<String> active = new HashSet<>();
    private final String start;

    private Timeline(List<Instant> actions, Set<String> savepoints) {
        List<String> writes = new ArrayList<>();
        for (Instant each : actions) {
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
        start = writes.stream().filter(each -> !savepoints.contains(each)).findFirst().orElse(oldest);
    }

    /** Returns the timeline with these file names. Names of other files are skipped. */
    static Timeline of(Collection<String> names) {
        List<Instant> actions = new ArrayList<>();
        List<Instant> states = new ArrayList<>();
        Set<String> completed = new HashSet<>();
        Set<String> savepoints = new HashSet<>();
        for (String name : names) {
            Instant each = parse(name);
            if (each == null) {
                continue;
            }
            if (each.action.equals(SAVEPOINT)) {
                savepoints.add(each.requested);
            } else if (each.isCompleted) {
                actions.add(each);
                completed.add(each.requested);
            } else {
                states.add(each);
            }
        }
        Set<String> seen = new HashSet<>();
        for (Instant each : states) {
            if (!completed.contains(each.requested) && seen.add(each.requested + each.action)) {
                actions.add(each);
            }
        }
        actions.sort(Comparator.comparing((Instant each) -> each.requested));
        return new Timeline(actions, savepoints);
    }

    private static Instant parse(String name) {
        Matcher parts = NAME.matcher(name);
        if (!parts.matches()) {
            return null;
        }
        String completion = parts.group(2) == null ? "" : parts.group(2);
        String suffix = parts.group(3);
        if (suffix == null) {
            return new Instant(parts.group(1), completion, parts.group(4), false, name);
        }
        // A running `commit` has its state in the place of the action: <requested>.inflight.
        boolean isState = suffix.equals("inflight") || suffix.equals("requested");
        return new Instant(parts.group(1), completion, isState ? COMMIT : suffix, !isState, name);
    }

    /**
     * Returns the request time of the oldest commit without a savepoint; empty without commits. Files with
     * an earlier time are of completed commits, which are archived.
     */
    String start() {
        return start;
    }

    /** Whether the commit of that request time is completed, archived or not. */
    boolean isVisible(String requested) {
        return done.containsKey(requested)
                || !active.contains(requested) && requested.compareTo(start) < 0;
    }

    /** Returns the completed commit of that request time; null if the active timeline has none. */
    Instant commit(String requested) {
        return done.get(requested);
    }

    /** Returns the request times of all running actions. */
    Set<String> pending() {
        Set<String> requests = new HashSet<>();
        running.forEach(each -> requests.add(each.requested));
        return requests;
    }

    /**
     * Returns the commits after which a reader of base files may continue: those before a pending compaction
     * and before a running write. Throws HudiReadException if a commit follows a running write and the
     * settings say FAIL.
     */
    List<Instant> visible(ReadSettings settings) throws HudiReadException {
        List<Instant> visible = commits;
        Instant compaction = first(Collections.singleton(COMPACTION));
        if (settings.stopsAtCompaction && compaction != null) {
            visible = before(visible, compaction);
        }
        Set<String> writes = new HashSet<>(WRITES);
        writes.remove(CLUSTERING); // an action of layout 2 that writes no new rows
        Instant write = first(writes);
        if (write == null || settings.holes.equals("USE_TRANSITION_TIME")) {
            return visible;
        }
        List<Instant> earlier = before(visible, write);
        if (earlier.size() < visible.size() && !settings.holes.equals("BLOCK")) {
            throw new HudiReadException(HudiReadException.HOLLOW, "The commit " + write.requested
                    + " is running, and later ones are complete. Wait for it, or set "
                    + ReadSettings.HOLES + "=BLOCK.");
        }
        return earlier;
    }

    /** Returns the first running action of these; null without one. */
    private Instant first(Set<String> actions) {
        return running.stream().filter(each -> actions.contains(each.action)).findFirst().orElse(null);
    }

    private static List<Instant> before(List<Instant> commits, Instant limit) {
        List<Instant> earlier = new ArrayList<>();
        for (Instant each : commits) {
            if (each.requested.compareTo(limit.requested) < 0) {
                earlier.add(each);
            }
        }
        return earlier;
    }
}
