package causeway.copy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * Copies whole files between file systems inside a Spark task.
 *
 * <p>An item of the RDD is a batch of {@link FileCopy} lines. A task returns its result lines as one
 * string, since each item that the driver collects costs time.
 *
 * <p>A file is written by the name of a part file. It gets its final name, with its source's modification
 * time, only when it is complete and, with checksums, was read back. A file of the final name that has the
 * source's length and time is therefore never sent again, and no other record is necessary (FA-R5).
 *
 * <p>The statuses of results: {@code sent}, {@code kept} (the target is right already), {@code changed}
 * (the source differs from its listing), {@code differs} (of a comparison), {@code failed}.
 */
public final class FileCopyTask implements FlatMapFunction<Iterator<String>, String> {
    private static final long serialVersionUID = 1L;
    private static final int BUFFER = 1 << 18; // bytes; fits into the processor's cache
    private static final long TRANSFER = 8L << 20; // bytes of one call of transferTo

    private final HashMap<String, Map<String, String>> endpoints;
    private final boolean compareOnly;
    private final boolean checksum;
    private final boolean keepOwner;
    private final long bytesPerSecond;
    private final int attempts;
    private final long pauseMillis;

    /**
     * {@code compareOnly}: read both sides and copy nothing. {@code bytesPerSecond} is the limit of one
     * task, 0 for none. {@code pauseMillis}, the pause before a retry, doubles with each retry.
     */
    public FileCopyTask(
            Map<String, Map<String, String>> endpoints,
            boolean compareOnly,
            boolean checksum,
            boolean keepOwner,
            long bytesPerSecond,
            int attempts,
            long pauseMillis) {
        this.endpoints = new HashMap<>(endpoints);
        this.compareOnly = compareOnly;
        this.checksum = checksum;
        this.keepOwner = keepOwner;
        this.bytesPerSecond = bytesPerSecond;
        this.attempts = attempts;
        this.pauseMillis = pauseMillis;
    }

    @Override
    public Iterator<String> call(Iterator<String> batches) throws Exception {
        TaskState state = new TaskState(endpoints, bytesPerSecond);
        StringBuilder results = new StringBuilder();
        while (batches.hasNext()) {
            for (String line : batches.next().split("\n", -1)) {
                results.append(copyWithRetries(new FileCopy(line), state)).append('\n');
            }
        }
        return Collections.singletonList(results.toString()).iterator();
    }

    private String copyWithRetries(FileCopy file, TaskState state) throws InterruptedException {
        if (!state.refusal.isEmpty()) {
            return file.result("failed", 0, 0, state.refusal);
        }
        String failure = "";
        for (int attempt = 0; attempt < attempts; attempt++) {
            if (attempt > 0) {
                Thread.sleep(pauseMillis << (attempt - 1));
            }
            try {
                return copy(file, state);
            } catch (KerberosRefused error) {
                // Hadoop has retried for many seconds. Each other file of the task would take as long.
                state.refusal = error.toString();
                return file.result("failed", 0, 0, state.refusal);
            } catch (IOException | RuntimeException error) {
                failure = error.toString();
            }
        }
        return file.result("failed", 0, 0, failure);
    }

    private String copy(FileCopy file, TaskState state) throws IOException, InterruptedException {
        FileStore source = state.systems.of(file.source);
        FileStore target = state.systems.of(file.target);
        FileInfo listed = source.stat(file.source);
        if (!file.matches(listed)) {
            return file.result("changed", 0, 0, "the source is not as it was listed");
        }
        if (compareOnly) {
            return compare(file, source, target, state);
        }
        // An object store does not keep the source's time, so its files cannot be compared.
        if (!target.isObjectStore() && file.matches(target.stat(file.target))) {
            return file.result("kept", 0, 0, "");
        }
        Path folder = file.target.getParent();
        if (state.createdFolders.add(folder)) {
            target.mkdirs(folder);
        }
        Path part = target.isObjectStore()
                ? file.target
                : new Path(folder, partName(file.target.getName()));
        boolean complete = false;
        try {
            long sum = write(file, part, source, target, state);
            if (!file.matches(source.stat(file.source))) {
                return file.result("changed", file.length, 0, "the source changed while it was read");
            }
            target.copyAttributes(part, listed, keepOwner);
            if (!target.isObjectStore()) {
                target.rename(part, file.target);
            }
            complete = true;
            return file.result("sent", file.length, sum, "");
        } finally {
            // An object has its final name from the beginning, and appears only when it is complete. It is
            // not deleted: another attempt of the task may have reported it as sent.
            if (!complete && !target.isObjectStore()) {
                target.delete(part);
            }
        }
    }

    /** Writes the part file and checks it. Returns the checksum; 0 without one. */
    private long write(FileCopy file, Path part, FileStore source, FileStore target, TaskState state)
            throws IOException, InterruptedException {
        boolean local = source.isLocal() && target.isLocal();
        ByteBuffer buffer = state.buffer(local);
        long sum = 0;
        if (local && !checksum) {
            FileChannel in = (FileChannel) source.read(file.source);
            transfer(in, (FileChannel) target.write(part), state.throttle);
        } else {
            ReadableByteChannel in = source.read(file.source);
            sum = pump(in, target.write(part), file.length, buffer, state.throttle);
        }
        FileInfo written = target.stat(part);
        if (written == null || written.length != file.length) {
            throw new IOException("the length differs after the copy");
        }
        if (checksum && sum != pump(target.read(part), null, 0, buffer, state.throttle)) {
            throw new IOException("the checksum differs after the copy");
        }
        return sum;
    }

    private String compare(FileCopy file, FileStore source, FileStore target, TaskState state)
            throws IOException, InterruptedException {
        ByteBuffer buffer = state.buffer(source.isLocal() && target.isLocal());
        long expected = pump(source.read(file.source), null, 0, buffer, state.throttle);
        long actual = pump(target.read(file.target), null, 0, buffer, state.throttle);
        if (expected == actual) {
            return file.result("kept", 0, expected, "");
        }
        String message = Long.toHexString(expected) + " is now " + Long.toHexString(actual);
        return file.result("differs", 0, actual, message);
    }

    /** Returns the part file's name. Two attempts of one task may run at a time, so it has the attempt's id. */
    private static String partName(String name) {
        TaskContext context = TaskContext.get();
        return "." + name + "." + (context == null ? 0 : context.taskAttemptId()) + ".part";
    }

    /** Copies inside the kernel. Closes both channels. */
    private static void transfer(FileChannel from, FileChannel to, Throttle throttle)
            throws IOException, InterruptedException {
        try (FileChannel in = from; FileChannel out = to) {
            long size = in.size();
            for (long position = 0; position < size; ) {
                long moved = in.transferTo(position, Math.min(TRANSFER, size - position), out);
                if (moved <= 0) {
                    throw new IOException("the source became shorter");
                }
                position += moved;
                throttle.add(moved);
            }
        }
    }

    /**
     * Copies `length` bytes, or only reads if `to` is null. Returns the checksum; 0 without one. Closes
     * both channels. An incomplete object is abandoned before, since its close would make it appear.
     */
    private long pump(
            ReadableByteChannel from,
            WritableByteChannel to,
            long length,
            ByteBuffer buffer,
            Throttle throttle)
            throws IOException, InterruptedException {
        try (ReadableByteChannel in = from; WritableByteChannel out = to) {
            try {
                return pumpOpen(in, out, length, buffer, throttle);
            } catch (Throwable failure) {
                if (out instanceof FileStore.Abandonable) {
                    ((FileStore.Abandonable) out).abandon();
                }
                throw failure;
            }
        }
    }

    private long pumpOpen(
            ReadableByteChannel in,
            WritableByteChannel out,
            long length,
            ByteBuffer buffer,
            Throttle throttle)
            throws IOException, InterruptedException {
        CRC32C sum = new CRC32C();
        long moved = 0;
        buffer.clear();
        while (in.read(buffer) >= 0) {
            buffer.flip();
            moved += buffer.remaining();
            if (checksum) {
                sum.update(buffer.duplicate());
            }
            if (out != null) {
                throttle.add(buffer.remaining());
                while (buffer.hasRemaining()) {
                    out.write(buffer);
                }
            }
            buffer.clear();
        }
        if (out != null && moved != length) {
            throw new IOException("the source had " + moved + " bytes instead of " + length);
        }
        return checksum ? sum.getValue() : 0;
    }

    /** The state of one task, which its files share. */
    private static final class TaskState {
        final FileSystems systems;
        final Throttle throttle;
        final Set<Path> createdFolders = new HashSet<>();
        String refusal = ""; // the reason why Kerberos refused a file of the task
        private ByteBuffer direct;
        private ByteBuffer heap;

        TaskState(Map<String, Map<String, String>> endpoints, long bytesPerSecond) {
            systems = new FileSystems(endpoints);
            throttle = new Throttle(bytesPerSecond);
        }

        ByteBuffer buffer(boolean local) {
            if (local) {
                direct = direct == null ? ByteBuffer.allocateDirect(BUFFER) : direct;
                return direct;
            }
            heap = heap == null ? ByteBuffer.allocate(BUFFER) : heap;
            return heap;
        }
    }
}
