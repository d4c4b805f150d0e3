import causeway.guard.claim.ChangeRange;
import causeway.guard.incremental.HudiTimeline;
import causeway.guard.incremental.NotIncrementalException;
import causeway.guard.incremental.Selected;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;

/**
 * Reads a case as JSON from each line: {@code names} of a timeline's files, {@code by_completion},
 * {@code archive}, {@code copy}, {@code range}. Writes {@code BEGIN END LATER_THAN}, or the message of a
 * refusal.
 */
public final class RangeCases {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        ObjectMapper mapper = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map each = (Map) mapper.readValue(line, Map.class);
            JsonNode range = (JsonNode) mapper.valueToTree(each.get("range"));
            HudiTimeline timeline = HudiTimeline.of((List) each.get("names"),
                    Boolean.TRUE.equals(each.get("by_completion")),
                    Boolean.TRUE.equals(each.get("archive")));
            try {
                Selected found = Selected.of(
                        new ChangeRange(range), timeline, Boolean.TRUE.equals(each.get("copy")));
                System.out.println(found.begin + " " + found.end + " " + found.laterThan);
            } catch (NotIncrementalException refused) {
                System.out.println(refused.getMessage());
            }
        }
    }
}
