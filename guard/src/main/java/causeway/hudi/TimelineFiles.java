package causeway.hudi;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Reads the file of a completed action. Table version 6 writes JSON, versions 8 and 9 write Avro
 * containers. The first bytes distinguish them.
 */
final class TimelineFiles {
    private static final byte[] AVRO = {'O', 'b', 'j', 1};
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private TimelineFiles() {}

    /** Returns the record of a file. Throws HudiReadException if it has none, IOException. */
    static JsonNode read(FileSystem files, Path path) throws IOException {
        try (InputStream in = new BufferedInputStream(files.open(path))) {
            in.mark(AVRO.length);
            byte[] head = new byte[AVRO.length];
            int length = 0;
            for (int more = 0; more >= 0 && length < head.length; length += Math.max(more, 0)) {
                more = in.read(head, length, head.length - length);
            }
            in.reset();
            JsonNode record = Arrays.equals(head, AVRO) ? avro(in) : JSON.readTree(in);
            if (record != null && record.isObject()) {
                return record;
            }
        } catch (JsonProcessingException | AvroRuntimeException broken) {
            throw new HudiReadException(HudiReadException.DAMAGED, "Cannot read " + path + ".", broken);
        }
        throw new HudiReadException(HudiReadException.DAMAGED, path + " has no record.");
    }

    private static JsonNode avro(InputStream in) throws IOException {
        try (DataFileStream<GenericRecord> records =
                new DataFileStream<>(in, new GenericDatumReader<GenericRecord>())) {
            return records.hasNext() ? node(records.next()) : null;
        }
    }

    private static JsonNode node(Object value) {
        if (value instanceof GenericRecord) {
            ObjectNode converted = NODES.objectNode();
            for (Schema.Field field : ((GenericRecord) value).getSchema().getFields()) {
                converted.set(field.name(), node(((GenericRecord) value).get(field.pos())));
            }
            return converted;
        }
        if (value instanceof Map) {
            ObjectNode converted = NODES.objectNode();
            ((Map<?, ?>) value).forEach((key, each) -> converted.set(key.toString(), node(each)));
            return converted;
        }
        if (value instanceof Collection) {
            ArrayNode converted = NODES.arrayNode();
            ((Collection<?>) value).forEach(each -> converted.add(node(each)));
            return converted;
        }
        return value == null ? NODES.nullNode() : NODES.textNode(value.toString());
    }
}
