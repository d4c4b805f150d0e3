package causeway.guard.incremental;

import causeway.guard.claim.ChangeRange;
import java.util.ArrayList;
import java.util.List;

/**
 * The range of instants that Hudi reads: after {@code begin}, up to and including {@code end}. The range
 * is empty if they are equal.
 *
 * <p>{@code laterThan} is null or a request time: rows of commits requested until then are left out. A
 * reader that continues after the newest {@code _hoodie_commit_time} of its rows gives a request time, but
 * ranges of newer tables are of completion times, which are later.
 */
public final class Selected {
    public final String begin;
    public final String end;
    public final String laterThan;

    /**
     * Whether Hudi may read all present files and filter the rows if files of the range were deleted. For
     * a range that begins before the timeline of an old table Hudi would do so without need.
     */
    public final boolean mayScan;

    private Selected(String begin, String end, String laterThan, boolean mayScan) {
        this.begin = begin;
        this.end = end;
        this.laterThan = laterThan;
        this.mayScan = mayScan;
    }

    /**
     * Selects the commits of a range. {@code isCopy}: the table is a copy, which may lack files for
     * another reason than Hudi's cleaner. Throws NotIncrementalException if the commits are not certain.
     */
    public static Selected of(ChangeRange range, HudiTimeline timeline, boolean isCopy) {
        if (mayHaveArchived(range, timeline)) {
            throw new NotIncrementalException("Commits after " + range.start
                    + " may be archived. Set a later consume.start.timestamp, or use hudi_table_changes.");
        }
        String laterThan = timeline.byCompletion && isRequest(range.start, timeline) ? range.start : null;
        List<String> keys = new ArrayList<>();
        for (HudiTimeline.Commit each : timeline.commits) {
            boolean inside = each.key.compareTo(range.start) > 0
                    && (range.end == null || each.key.compareTo(range.end) <= 0);
            if (inside && (laterThan == null || each.requested.compareTo(laterThan) > 0)) {
                keys.add(each.key);
            }
        }
        if (range.commits != null && keys.size() > range.commits) {
            keys = keys.subList(0, range.commits);
        }
        String last = keys.isEmpty() ? range.start : keys.get(keys.size() - 1);
        boolean isBefore = timeline.commits.isEmpty()
                || range.start.compareTo(timeline.commits.get(0).key) < 0;
        boolean mayScan = !isCopy && (timeline.byCompletion || !isBefore);
        return new Selected(range.start, last, laterThan, mayScan);
    }

    /** Whether the range begins before the active timeline of a table that has an archive. */
    private static boolean mayHaveArchived(ChangeRange range, HudiTimeline timeline) {
        if (!timeline.hasArchive) {
            return false;
        }
        for (HudiTimeline.Commit each : timeline.commits) {
            if (!timeline.saved.contains(each.requested)) {
                return range.start.compareTo(each.key) < 0;
            }
        }
        return true;
    }

    private static boolean isRequest(String instant, HudiTimeline timeline) {
        return timeline.commits.stream().anyMatch(each -> each.requested.equals(instant));
    }

    boolean isEmpty() {
        return begin.equals(end);
    }
}
