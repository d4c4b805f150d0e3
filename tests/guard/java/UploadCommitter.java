import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory;

/**
 * A committer like those of object stores, on local disk: tasks write to {@code upload.folder}, and
 * their files appear in the output directory at the job's commit, without a call of a Hadoop file system.
 * Then the process halts if {@code upload.then} is {@code halt}, and the commit fails if it is
 * {@code fail}.
 */
public final class UploadCommitter extends PathOutputCommitter {
    private final Path output;
    private final Path uploads;

    /** The value of {@code mapreduce.outputcommitter.factory.class}. */
    public static final class Factory extends PathOutputCommitterFactory {
        @Override
        public PathOutputCommitter createOutputCommitter(Path output, TaskAttemptContext task)
                throws IOException {
            return new UploadCommitter(output, task);
        }
    }

    private UploadCommitter(Path output, TaskAttemptContext task) throws IOException {
        super(output, task);
        this.output = output;
        uploads = new Path(task.getConfiguration().get("upload.folder"));
    }

    @Override
    public Path getOutputPath() {
        return output;
    }

    @Override
    public Path getWorkPath() {
        return uploads;
    }

    @Override
    public void setupJob(JobContext job) {}

    @Override
    public void setupTask(TaskAttemptContext task) {}

    @Override
    public boolean needsTaskCommit(TaskAttemptContext task) {
        return true;
    }

    @Override
    public void commitTask(TaskAttemptContext task) {}

    @Override
    public void abortTask(TaskAttemptContext task) {}

    @Override
    public void commitJob(JobContext job) throws IOException {
        File visible = new File(output.toUri().getPath());
        Files.createDirectories(visible.toPath());
        for (File each : new File(uploads.toUri().getPath()).listFiles()) {
            Files.move(each.toPath(), visible.toPath().resolve(each.getName()));
        }
        String then = job.getConfiguration().get("upload.then", "");
        if (then.equals("halt")) {
            Runtime.getRuntime().halt(1);
        } else if (then.equals("fail")) {
            throw new IOException("the commit failed");
        }
    }
}
