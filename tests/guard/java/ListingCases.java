import causeway.hudi.HudiParquetInputFormat;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobConf;

/**
 * Reads a job as JSON from each line: {@code paths}, {@code conf}. Writes {@code files} (path, length,
 * whether it is a folder) and the paths that the job listed and opened: {@code listed}, {@code opened}; or
 * {@code error}.
 */
public final class ListingCases {
    static final List LISTED = new ArrayList();
    static final List OPENED = new ArrayList();

    /** Records the paths that are listed and opened. */
    public static final class Counting extends LocalFileSystem {
        public FileStatus[] listStatus(Path path) throws IOException {
            LISTED.add(path.toUri().getPath());
            return super.listStatus(path);
        }

        public RemoteIterator listLocatedStatus(Path path) throws IOException {
            LISTED.add(path.toUri().getPath());
            return super.listLocatedStatus(path);
        }

        public FSDataInputStream open(Path path, int size) throws IOException {
            OPENED.add(path.toUri().getPath());
            return super.open(path, size);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        ObjectMapper mapper = new ObjectMapper();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map job = (Map) mapper.readValue(line, Map.class);
            Map reply = new LinkedHashMap();
            LISTED.clear();
            OPENED.clear();
            try {
                reply.put("files", files((List) job.get("paths"), (Map) job.get("conf")));
                reply.put("listed", LISTED);
                reply.put("opened", OPENED);
            } catch (IOException refused) {
                reply.put("error", refused.getMessage());
            }
            System.out.println(mapper.writeValueAsString(reply));
        }
    }

    private static List files(List paths, Map conf) throws IOException {
        JobConf job = new JobConf();
        job.setClassLoader(ListingCases.class.getClassLoader());
        job.set("fs.file.impl", "ListingCases$Counting");
        job.setBoolean("fs.file.impl.disable.cache", true);
        for (Iterator each = conf.keySet().iterator(); each.hasNext(); ) {
            String key = (String) each.next();
            job.set(key, (String) conf.get(key));
        }
        Path[] inputs = new Path[paths.size()];
        for (int i = 0; i < inputs.length; i++) {
            inputs[i] = new Path((String) paths.get(i));
        }
        FileInputFormat.setInputPaths(job, inputs);
        List found = new ArrayList();
        FileStatus[] files = new HudiParquetInputFormat().listStatus(job);
        for (int i = 0; i < files.length; i++) {
            List file = new ArrayList();
            file.add(files[i].getPath().toUri().getPath());
            file.add(Long.valueOf(files[i].getLen()));
            file.add(Boolean.valueOf(files[i].isDirectory()));
            found.add(file);
        }
        return found;
    }
}
