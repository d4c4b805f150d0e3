package causeway.guard.claim;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends each refusal of what a claim does not cover to the file {@code spark.causeway.refusals.file}
 * as a line of JSON, also where Spark shows the refusal as a row (EXPLAIN) or hides it. Each is a
 * fault of the analysis. CW363 is none: the proxy decides such a statement again.
 */
public final class Refusals {
    private static final Logger LOG = LoggerFactory.getLogger(Refusals.class);
    private static final String FILE = "spark.causeway.refusals.file";
    private static final int LONGEST_TEXT = 10_000;

    private Refusals() {}

    /** Returns the exception to throw. {@code claim} is null where it cannot be read. */
    public static RuntimeException reported(
            SparkSession session, Claim claim, ClaimException refused) {
        SparkContext context = session.sparkContext();
        SparkConf conf = context.getConf();
        String file = conf.get(FILE, "");
        if (!file.isEmpty() && !refused.getErrorClass().equals(ClaimException.CHANGED)) {
            Map<String, String> line = new LinkedHashMap<>();
            line.put("time", Instant.now().toString());
            line.put("cluster", conf.get("spark.causeway.cluster", ""));
            line.put("code", refused.getErrorClass());
            line.put("refusal", refused.getMessage());
            line.put("statement", shortened(context.getLocalProperty(Claims.DESCRIPTION)));
            append(file, line);
        }
        return claim == null ? refused : uncaught(claim, refused);
    }

    /** Returns the exception to throw: one that no handler of a script catches. */
    public static RuntimeException uncaught(Claim claim, ClaimException refused) {
        return claim.isScript() ? new ScriptRefusedException(refused) : refused;
    }

    private static String shortened(String text) {
        return text == null || text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT);
    }

    /** One call writes the line, so that lines of several processes do not mix. */
    private static void append(String file, Map<String, String> line) {
        try (FileChannel channel = FileChannel.open(Paths.get(file),
                StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
            String json = new ObjectMapper().writeValueAsString(line) + "\n";
            channel.write(ByteBuffer.wrap(json.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException | RuntimeException error) {
            LOG.error("The refusal of a statement was not written to {}", file, error);
        }
    }
}
