package causeway.guard.files;

import causeway.guard.StatementHook;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.Label;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;

/**
 * A Java agent: every Hadoop file system of the process asks {@link StorageCheck} before it changes
 * anything, and every committer before it begins and ends a job.
 *
 * <p>All implementations of {@code FileSystem} and {@code AbstractFileSystem} change files in
 * methods with the names below, which take paths. When such a class is loaded, the agent adds the
 * call at the beginning of these methods. So every class is checked that the configuration, a session's
 * settings or a table's options choose for a scheme, and callers get the class that they expect.
 */
public final class StorageAgent implements ClassFileTransformer {
    private static final Set<String> CHANGES = new HashSet<>(Arrays.asList(
            "create", "createNewFile", "createNonRecursive", "createInternal", "createFile",
            "primitiveCreate", "append", "appendFile", "truncate", "concat",
            "createMultipartUploader", "copyFromLocalFile", "moveFromLocalFile",
            "mkdir", "mkdirs", "mkdirsWithDefault", "primitiveMkdir",
            "rename", "renameInternal", "delete", "recoverLease", "createSymlink",
            "setPermission", "setOwner", "setTimes", "setReplication", "setXAttr", "removeXAttr",
            "setAcl", "modifyAclEntries", "removeAclEntries", "removeDefaultAcl", "removeAcl",
            "setStoragePolicy", "unsetStoragePolicy", "satisfyStoragePolicy",
            "setErasureCodingPolicy", "unsetErasureCodingPolicy", "createEncryptionZone",
            "setQuota", "setQuotaByStorageType",
            "createSnapshot", "renameSnapshot", "deleteSnapshot", "allowSnapshot",
            "disallowSnapshot", "provisionSnapshotTrash"));

    /** The methods that change the bytes of one file, or create a file. */
    private static final Set<String> FILES = new HashSet<>(Arrays.asList(
            "create", "createNewFile", "createNonRecursive", "createInternal", "createFile",
            "primitiveCreate", "append", "appendFile", "truncate", "concat",
            "createMultipartUploader", "createSymlink"));
    /** The methods that move or delete files and whole directories. */
    private static final Set<String> TREES = new HashSet<>(Arrays.asList(
            "rename", "renameInternal", "delete", "copyFromLocalFile", "moveFromLocalFile"));
    private static final String STREAM = "org/apache/hadoop/fs/FSDataOutputStream";
    /**
     * The methods of a committer that begin and end a job, of Hadoop's {@code OutputCommitter} and of
     * Spark's {@code FileCommitProtocol}. Their first argument is the job.
     */
    private static final Set<String> JOBS =
            new HashSet<>(Arrays.asList("setupJob", "commitJob", "abortJob"));
    private static final String JOB = "Lorg/apache/hadoop/mapreduce/JobContext;";
    private static final String OLD_JOB = "Lorg/apache/hadoop/mapred/JobContext;"; // a JOB, too

    private static final String PATH = "Lorg/apache/hadoop/fs/Path;";
    private static final String PATHS = "[" + PATH;
    private static final byte[] HADOOP = "org/apache/hadoop/".getBytes(StandardCharsets.US_ASCII);
    private static final byte[][] MENTIONED = {
        "fs/Path".getBytes(StandardCharsets.US_ASCII),
        "mapreduce/JobContext".getBytes(StandardCharsets.US_ASCII),
        "mapred/JobContext".getBytes(StandardCharsets.US_ASCII),
    };
    // The base class: its methods call those of its subclasses, which are checked.
    private static final String BASE = "org/apache/hadoop/fs/FileSystem";
    private static final String CHECK = "causeway/guard/files/StorageCheck";

    private static volatile boolean active;

    private StorageAgent() {}

    /** Called by the virtual machine for {@code -javaagent:causeway-guard.jar}. */
    public static void premain(String options, Instrumentation instrumentation) {
        new ClassWriter(0); // fails early: without ASM the process must not start
        instrumentation.addTransformer(new StorageAgent());
        instrumentation.addTransformer(new StatementHook());
        active = true;
    }

    /** Whether the file systems of this process are checked. */
    public static boolean isActive() {
        return active;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] code) {
        if (name == null || loader == null || name.equals(BASE)
                || name.startsWith("causeway/guard/")
                || !(name.equals(STREAM) || mentionsPathOrJob(code))) {
            return null;
        }
        try {
            ClassReader reader = new ClassReader(code);
            if ((reader.getAccess() & Opcodes.ACC_INTERFACE) != 0) {
                return null;
            }
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            CheckedClass checked = new CheckedClass(writer, name.equals(STREAM));
            reader.accept(checked, 0);
            return checked.changed ? writer.toByteArray() : null;
        } catch (Throwable failure) { // the virtual machine would ignore it
            System.err.println("causeway guard: the writes of " + name + " are not checked: " + failure);
            return null;
        }
    }

    private static boolean mentionsPathOrJob(byte[] code) {
        for (int at = 0; at <= code.length - HADOOP.length; at++) {
            if (isAt(code, at, HADOOP)) {
                for (byte[] mentioned : MENTIONED) {
                    if (isAt(code, at + HADOOP.length, mentioned)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private static boolean isAt(byte[] code, int at, byte[] word) {
        int same = 0;
        while (same < word.length && at + same < code.length && code[at + same] == word[same]) {
            same++;
        }
        return same == word.length;
    }

    private static final class CheckedClass extends ClassVisitor {
        private final boolean isStream;
        boolean changed;

        CheckedClass(ClassVisitor next, boolean isStream) {
            super(Opcodes.ASM9, next);
            this.isStream = isStream;
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String types, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, types, signature, thrown);
            boolean runs = (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0;
            if (isStream && name.equals("close") && types.equals("()V")) {
                changed = true;
                return new ClosingMethod(next);
            }
            if (runs && JOBS.contains(name)
                    && (types.startsWith("(" + JOB) || types.startsWith("(" + OLD_JOB))) {
                changed = true;
                return new JobMethod(next, name);
            }
            if (!runs || !CHANGES.contains(name) || !types.contains(PATH)) {
                return next;
            }
            changed = true;
            return new CheckedMethod(next, name, Type.getArgumentTypes(types));
        }
    }

    /** A method with a check at its beginning and a call before each of its ends. */
    private abstract static class EnclosedMethod extends MethodVisitor {
        private final Label begin = new Label();
        private final Label end = new Label();

        EnclosedMethod(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        abstract void check();

        /** Before the method returns. */
        void checkReturn() {}

        @Override
        public void visitCode() {
            super.visitCode();
            call("enter", "()V");
            visitLabel(begin);
            check();
        }

        @Override
        public void visitInsn(int instruction) {
            if (instruction >= Opcodes.IRETURN && instruction <= Opcodes.RETURN) {
                checkReturn();
            }
            if (instruction == Opcodes.ARETURN) {
                super.visitInsn(Opcodes.DUP);
                call("exit", "(Ljava/lang/Object;)V");
            } else if (instruction >= Opcodes.IRETURN && instruction <= Opcodes.RETURN) {
                call("exit", "()V");
            }
            super.visitInsn(instruction);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            visitLabel(end);
            visitTryCatchBlock(begin, end, end, null);
            visitFrame(Opcodes.F_FULL, 0, null, 1, new Object[] {"java/lang/Throwable"});
            call("exit", "()V");
            super.visitInsn(Opcodes.ATHROW);
            super.visitMaxs(stack, locals);
        }

        void call(String method, String types) {
            visitMethodInsn(Opcodes.INVOKESTATIC, CHECK, method, types, false);
        }
    }

    /** A method that changes files. */
    private static final class CheckedMethod extends EnclosedMethod {
        private final String name;
        private final Type[] arguments;

        CheckedMethod(MethodVisitor next, String name, Type[] arguments) {
            super(next);
            this.name = name;
            this.arguments = arguments;
        }

        @Override
        void check() {
            forEachPath("beforeChange");
            if (name.startsWith("rename") && pathArguments() == 2) {
                visitVarInsn(Opcodes.ALOAD, 0);
                loadPaths();
                call("beforeRename", "(Ljava/lang/Object;" + PATH + PATH + ")V");
            } else if (TREES.contains(name)) {
                forEachPath("beforeTree");
            } else if (FILES.contains(name)) {
                forEachPath("beforeFile");
            }
        }

        private void forEachPath(String method) {
            int local = 1; // after `this`
            for (Type argument : arguments) {
                String type = argument.getDescriptor();
                if (isPath(argument)) {
                    visitVarInsn(Opcodes.ALOAD, 0);
                    visitVarInsn(Opcodes.ALOAD, local);
                    call(method, "(Ljava/lang/Object;" + type + ")V");
                }
                local += argument.getSize();
            }
        }

        private void loadPaths() {
            int local = 1;
            for (Type argument : arguments) {
                if (isPath(argument)) {
                    visitVarInsn(Opcodes.ALOAD, local);
                }
                local += argument.getSize();
            }
        }

        private int pathArguments() {
            return (int) Arrays.stream(arguments).filter(CheckedMethod::isPath).count();
        }

        private static boolean isPath(Type argument) {
            return argument.getDescriptor().equals(PATH) || argument.getDescriptor().equals(PATHS);
        }
    }

    /** A committer's method that begins or ends a job. */
    private static final class JobMethod extends EnclosedMethod {
        private final boolean ends;

        JobMethod(MethodVisitor next, String name) {
            super(next);
            ends = !name.equals("setupJob");
        }

        @Override
        void check() {
            visitVarInsn(Opcodes.ALOAD, 0);
            visitVarInsn(Opcodes.ALOAD, 1);
            call("beforeJob", "(Ljava/lang/Object;" + JOB + ")V");
        }

        @Override
        void checkReturn() {
            if (ends) {
                visitVarInsn(Opcodes.ALOAD, 0);
                call("jobEnded", "(Ljava/lang/Object;)V");
            }
        }
    }

    /** The end of a stream's {@code close}. */
    private static final class ClosingMethod extends MethodVisitor {
        ClosingMethod(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visitInsn(int instruction) {
            if (instruction == Opcodes.RETURN) {
                visitVarInsn(Opcodes.ALOAD, 0);
                visitMethodInsn(Opcodes.INVOKESTATIC, CHECK, "closed", "(Ljava/lang/Object;)V", false);
            }
            super.visitInsn(instruction);
        }
    }
}
