package causeway;

import java.io.IOException;
import java.io.Serializable;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.zip.CRC32C;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * Carries whole files between file systems inside a Spark task.
 *
 * <p>An item of the RDD is a batch of orders, one a line: index, source, target, length and
 * modification time of the source as listed; tab separated, paths URL-encoded. One outcome line
 * comes back for each: index, verdict, bytes sent, checksum, message; all of a task as one string,
 * since whoever collects them pays for each item.
 *
 * <p>A file gets its final name only when it is complete (and, with checksums, was read back),
 * together with its source's modification time; so what has the source's length and time under
 * its final name is never sent again, and nothing else has to be remembered (FA-R5).
 */
public final class Courier implements FlatMapFunction, Serializable {
    private static final int CHUNK = 1 << 18; // stays in the processor's cache from read to write
    private static final long SPAN = 8L << 20;

    private final HashMap endpoints;
    private final boolean compareOnly;
    private final boolean checksum;
    private final boolean keepOwner;
    private final long bytesPerSecond;
    private final int attempts;
    private final long pauseMillis;

    /**
     * compareOnly reads both sides and carries nothing; bytesPerSecond bounds one task, 0 for
     * unbounded; pauseMillis doubles with each retry.
     */
    public Courier(
            Map endpoints,
            boolean compareOnly,
            boolean checksum,
            boolean keepOwner,
            long bytesPerSecond,
            int attempts,
            long pauseMillis) {
        this.endpoints = new HashMap(endpoints);
        this.compareOnly = compareOnly;
        this.checksum = checksum;
        this.keepOwner = keepOwner;
        this.bytesPerSecond = bytesPerSecond;
        this.attempts = attempts;
        this.pauseMillis = pauseMillis;
    }

    public Iterator call(Object batches) throws Exception {
        Round round = new Round(endpoints, bytesPerSecond);
        StringBuilder outcomes = new StringBuilder();
        Iterator each = (Iterator) batches;
        while (each.hasNext()) {
            String[] lines = ((String) each.next()).split("\n", -1);
            for (int i = 0; i < lines.length; i++) {
                outcomes.append(deliver(new Order(lines[i]), round)).append('\n');
            }
        }
        return java.util.Collections.singletonList(outcomes.toString()).iterator();
    }

    private String deliver(Order order, Round round) throws Exception {
        String failure = "";
        for (int attempt = 0; attempt < attempts; attempt++) {
            if (attempt > 0) {
                Thread.sleep(pauseMillis << (attempt - 1));
            }
            try {
                return attempt(order, round);
            } catch (IOException error) {
                failure = error.toString();
            } catch (RuntimeException error) {
                failure = error.toString();
            }
        }
        return order.outcome("failed", 0, 0, failure);
    }

    private String attempt(Order order, Round round) throws Exception {
        Stores.Store from = round.stores.of(order.source);
        Stores.Store to = round.stores.of(order.target);
        Stores.Entry before = from.stat(order.source);
        if (!order.describes(before)) {
            return order.outcome("changed", 0, 0, "the source is not as it was listed");
        }
        if (compareOnly) {
            return compare(order, from, to, round);
        }
        if (finished(to, order)) {
            return order.outcome("kept", 0, 0, "");
        }
        Path parent = order.target.getParent();
        if (round.made.add(parent)) {
            to.mkdirs(parent);
        }
        Path part = to.objects() ? order.target : new Path(parent, partName(order.target.getName()));
        boolean placed = false;
        try {
            ByteBuffer buffer = round.buffer(from.local() && to.local());
            long sum = 0;
            if (from.local() && to.local() && !checksum) {
                transfer((FileChannel) from.read(order.source), (FileChannel) to.write(part), round.throttle);
            } else {
                sum = pump(from.read(order.source), to.write(part), buffer, round.throttle);
            }
            if (to.stat(part).length != order.length) {
                throw new IOException("the length differs after the copy");
            }
            if (checksum && sum != pump(to.read(part), null, buffer, round.throttle)) {
                throw new IOException("the checksum differs after the copy");
            }
            if (!order.describes(from.stat(order.source))) {
                return order.outcome("changed", order.length, 0, "the source changed while it was read");
            }
            to.dress(part, before, keepOwner);
            if (!to.objects()) {
                to.place(part, order.target);
            }
            placed = true;
            return order.outcome("sent", order.length, sum, "");
        } finally {
            if (!placed) {
                to.delete(part);
            }
        }
    }

    private String compare(Order order, Stores.Store from, Stores.Store to, Round round) throws Exception {
        ByteBuffer buffer = round.buffer(from.local() && to.local());
        long wanted = pump(from.read(order.source), null, buffer, round.throttle);
        long found = pump(to.read(order.target), null, buffer, round.throttle);
        String message = Long.toHexString(wanted) + " is now " + Long.toHexString(found);
        return wanted == found ? order.outcome("kept", 0, wanted, "") : order.outcome("differs", 0, found, message);
    }

    /** Two attempts of one task may run at once: each has its own part file. */
    private static String partName(String name) {
        TaskContext context = TaskContext.get();
        return "." + name + "." + (context == null ? 0 : context.taskAttemptId()) + ".part";
    }

    /** Object stores keep no time of ours, so there nothing is known to be finished. */
    private static boolean finished(Stores.Store to, Order order) throws IOException {
        Stores.Entry there = to.stat(order.target);
        return !to.objects() && order.describes(there);
    }

    /** Leaves the copying to the kernel. Closes both. */
    private static void transfer(FileChannel in, FileChannel out, Throttle throttle) throws Exception {
        try {
            try {
                long size = in.size();
                for (long at = 0; at < size; ) {
                    long moved = in.transferTo(at, Math.min(SPAN, size - at), out);
                    if (moved <= 0) {
                        throw new IOException("the source became shorter");
                    }
                    at += moved;
                    throttle.pass(moved);
                }
            } finally {
                out.close();
            }
        } finally {
            in.close();
        }
    }

    /** Checksum of all that was read; 0 when none is asked for. Closes both. */
    private long pump(ReadableByteChannel in, WritableByteChannel out, ByteBuffer buffer, Throttle throttle)
            throws Exception {
        CRC32C sum = new CRC32C();
        try {
            try {
                buffer.clear();
                while (in.read(buffer) >= 0) {
                    buffer.flip();
                    if (checksum) {
                        sum.update((ByteBuffer) buffer.duplicate());
                    }
                    if (out != null) {
                        throttle.pass(buffer.remaining());
                        while (buffer.hasRemaining()) {
                            out.write(buffer);
                        }
                    }
                    buffer.clear();
                }
            } finally {
                if (out != null) {
                    out.close();
                }
            }
        } finally {
            in.close();
        }
        return checksum ? sum.getValue() : 0;
    }

    static String decode(String text) {
        try {
            return URLDecoder.decode(text, "UTF-8");
        } catch (java.io.UnsupportedEncodingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static String encode(String text) {
        try {
            return URLEncoder.encode(text, "UTF-8");
        } catch (java.io.UnsupportedEncodingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What one task keeps from file to file. */
    static final class Round {
        final Stores stores;
        final Throttle throttle;
        final HashSet made = new HashSet();
        private ByteBuffer direct;
        private ByteBuffer heap;

        Round(Map endpoints, long bytesPerSecond) {
            stores = new Stores(endpoints);
            throttle = new Throttle(bytesPerSecond);
        }

        ByteBuffer buffer(boolean channels) {
            if (channels) {
                direct = direct == null ? ByteBuffer.allocateDirect(CHUNK) : direct;
                return direct;
            }
            heap = heap == null ? ByteBuffer.allocate(CHUNK) : heap;
            return heap;
        }
    }

    /** One file to carry. */
    static final class Order {
        final String index;
        final Path source;
        final Path target;
        final long length;
        final long modified;

        Order(String line) {
            String[] fields = line.split("\t", -1);
            index = fields[0];
            source = new Path(decode(fields[1]));
            target = new Path(decode(fields[2]));
            length = Long.parseLong(fields[3]);
            modified = Long.parseLong(fields[4]);
        }

        boolean describes(Stores.Entry entry) {
            return entry != null && entry.length == length && entry.modified == modified;
        }

        String outcome(String verdict, long sent, long sum, String message) {
            return index + "\t" + verdict + "\t" + sent + "\t" + Long.toHexString(sum) + "\t" + encode(message);
        }
    }

    /** Sleeps so that no more than the given bytes a second pass. */
    static final class Throttle {
        private final long bytesPerSecond;
        private final long started = System.nanoTime();
        private long passed = 0;

        Throttle(long bytesPerSecond) {
            this.bytesPerSecond = bytesPerSecond;
        }

        void pass(long bytes) throws InterruptedException {
            if (bytesPerSecond <= 0) {
                return;
            }
            passed += bytes;
            long due = (long) (passed * 1e9 / bytesPerSecond) - (System.nanoTime() - started);
            if (due > 0) {
                Thread.sleep(due / 1000000L, (int) (due % 1000000L));
            }
        }
    }
}
