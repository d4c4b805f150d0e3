package causeway.guard.files;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.fs.FSDataOutputStream;

/** Streams that write files, until they are closed or garbage, each with the leases of its folder. */
final class OpenStreams {
    private static final ReferenceQueue<Object> FORGOTTEN = new ReferenceQueue<>();
    private static final ConcurrentMap<Key, List<FolderLease>> LEASES = new ConcurrentHashMap<>();

    private OpenStreams() {}

    static void add(FSDataOutputStream stream, FolderLease lease) {
        lease.share();
        LEASES.compute(new Key(stream, FORGOTTEN), (key, leases) -> {
            List<FolderLease> all = leases == null ? new ArrayList<>() : leases;
            all.add(lease);
            return all;
        });
    }

    static void close(Object stream) {
        release(LEASES.remove(new Key(stream, null)));
    }

    static void releaseForgotten() {
        for (Reference<?> each = FORGOTTEN.poll(); each != null; each = FORGOTTEN.poll()) {
            release(LEASES.remove(each));
        }
    }

    private static void release(List<FolderLease> leases) {
        if (leases != null) {
            leases.forEach(FolderLease::release);
        }
    }

    /** A stream by its identity. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object stream, ReferenceQueue<Object> queue) {
            super(stream, queue);
            hash = System.identityHashCode(stream);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other
                    || (other instanceof Key && get() != null && get() == ((Key) other).get());
        }
    }
}
