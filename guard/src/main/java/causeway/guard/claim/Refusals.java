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
 * Appends each refusal by a claim to the file {@code spark.causeway.refusals.file} as a line of JSON, also
 * if Spark shows the refusal as a row of an EXPLAIN or hides it. Each one is a fault of the proxy's
 * analysis. CW363 is not, and is left out: the proxy decides such a statement again.
 */
public final class Refusals {
    private static final Logger LOG = LoggerFactory.getLogger(Refusals.class);
    private static final String FILE = "spark.causeway.refusals.file";
    private static final int MAX_TEXT_LENGTH = 10_000;

    private Refusals() {}

    /** Appends the refusal and returns the exception to throw. {@code claim} is null if it is unreadable. */
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

    /** Returns the exception to throw. For a script it is one that no handler of the script catches. */
    public static RuntimeException uncaught(Claim claim, ClaimException refused) {
        return claim.isScript() ? new ScriptRefusedException(refused) : refused;
    }

    private static String shortened(String text) {
        return text == null || text.length() <= MAX_TEXT_LENGTH ? text : text.substring(0, MAX_TEXT_LENGTH);
    }

    /** Writes the line by one call, so that lines of several processes do not mix. */
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
