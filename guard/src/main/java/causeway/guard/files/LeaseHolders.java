package causeway.guard.files;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Objects that write files, each with the leases of its folders: streams until they are closed,
 * committers until their job has ended, both until they are garbage.
 */
final class LeaseHolders {
    private static final ReferenceQueue<Object> FORGOTTEN = new ReferenceQueue<>();
    private static final ConcurrentMap<Key, List<FolderLease>> LEASES = new ConcurrentHashMap<>();

    private LeaseHolders() {}

    static void add(Object holder, FolderLease lease) {
        lease.share();
        LEASES.compute(new Key(holder, FORGOTTEN), (key, leases) -> {
            List<FolderLease> all = leases == null ? new ArrayList<>() : leases;
            all.add(lease);
            return all;
        });
    }

    static void remove(Object holder) {
        release(LEASES.remove(new Key(holder, null)));
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

    /** A holder by its identity. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object holder, ReferenceQueue<Object> queue) {
            super(holder, queue);
            hash = System.identityHashCode(holder);
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
