import causeway.guard.results.ResultMemory;

/** Has results take memory. Prints one line a step: ok, or the refusal. */
public final class ResultMemoryCases {
    private static final long MB = 1 << 20;

    public static void main(String[] none) {
        ResultMemory one = new ResultMemory(100 * MB);
        ResultMemory two = new ResultMemory(100 * MB);
        ResultMemory three = new ResultMemory(100 * MB);
        ResultMemory small = new ResultMemory(100 * MB);
        pack("one packs", one, 20 * MB);
        pack("two packs beside it", two, 20 * MB);
        pack("a small one packs", small, MB);
        pack("a small one grows", small, 20 * MB);
        one.keep(20 * MB);
        pack("three packs when one is collected", three, 20 * MB);
        three.close();
        pack("three packs when it is closed", three, MB);
        pack("two packs when three is closed", two, 20 * MB);
        two.close();
        one.close();
        small.close();
        ResultMemory last = new ResultMemory(100 * MB);
        pack("the last one packs when all are closed", last, 33 * MB);
        System.out.println("found by its name: " + (ResultMemory.of(last.id()) == last));
        last.close();
        System.out.println("found when it is closed: " + (ResultMemory.of(last.id()) != null));
    }

    private static void pack(String step, ResultMemory memory, long bytes) {
        String outcome = "ok";
        try {
            memory.pack(bytes);
        } catch (RuntimeException refusal) {
            boolean same = refusal == memory.refusal();
            outcome = same ? refusal.getMessage() : "another refusal";
        }
        System.out.println(step + ": " + outcome);
    }
}
