package causeway.guard.files;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The objects that use leases for longer than one call: a stream until it is closed, a committer until its
 * job has ended. An object that is garbage before that releases its leases, too.
 */
final class LeaseHolders {
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    private static final ConcurrentMap<Key, List<FolderLease>> LEASES = new ConcurrentHashMap<>();

    private LeaseHolders() {}

    /** Adds {@code holder} to the users of a lease that has a user. */
    static void add(Object holder, FolderLease lease) {
        lease.share();
        LEASES.compute(new Key(holder, UNREACHABLE), (key, leases) -> {
            List<FolderLease> all = leases == null ? new ArrayList<>() : leases;
            all.add(lease);
            return all;
        });
    }

    /** Releases the leases of {@code holder}. */
    static void remove(Object holder) {
        release(LEASES.remove(new Key(holder, null)));
    }

    /** Releases the leases of holders that are garbage. */
    static void releaseUnreachable() {
        for (Reference<?> each = UNREACHABLE.poll(); each != null; each = UNREACHABLE.poll()) {
            release(LEASES.remove(each));
        }
    }

    private static void release(List<FolderLease> leases) {
        if (leases != null) {
            leases.forEach(FolderLease::release);
        }
    }

    /** A holder, compared by its identity and not kept from being garbage. */
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
