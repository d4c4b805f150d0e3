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
 * A Java agent: adds calls of {@link StorageCheck} to every Hadoop file system and committer of the
 * process. A file system calls it before it changes a file, a committer before it begins and ends a job.
 *
 * <p>All implementations of {@code FileSystem} and {@code AbstractFileSystem} change files in
 * methods with the names below, which take paths. When such a class is loaded, the agent adds the calls
 * to these methods. So each class is checked that the configuration, a session's settings or a table's
 * options choose for a scheme, and callers get the class that they expect. The package
 * {@code causeway.guard.writes} says what the calls begin and end.
 *
 * <pre>
 * before a method that changes files    enter, beforeChange, then beforeFile, beforeTree or beforeRename
 * after it                              exit
 * before a committer's method of a job  enter, beforeJob
 * after it                              jobEnded if it returns from a commit or abort; exit
 * after close() of a stream             closed
 * </pre>
 */
public final class StorageAgent implements ClassFileTransformer {
    private static final Set<String> CHANGING_METHODS = new HashSet<>(Arrays.asList(
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
    private static final Set<String> FILE_METHODS = new HashSet<>(Arrays.asList(
            "create", "createNewFile", "createNonRecursive", "createInternal", "createFile",
            "primitiveCreate", "append", "appendFile", "truncate", "concat",
            "createMultipartUploader", "createSymlink"));
    /** The methods that move or delete files and whole directories. */
    private static final Set<String> TREE_METHODS = new HashSet<>(Arrays.asList(
            "rename", "renameInternal", "delete", "copyFromLocalFile", "moveFromLocalFile"));
    private static final String STREAM = "org/apache/hadoop/fs/FSDataOutputStream";
    /**
     * The methods that begin and end a job, of Hadoop's {@code OutputCommitter} and of Spark's
     * {@code FileCommitProtocol}. Their first argument is the job.
     */
    private static final Set<String> JOB_METHODS =
            new HashSet<>(Arrays.asList("setupJob", "commitJob", "abortJob"));
    private static final String JOB = "Lorg/apache/hadoop/mapreduce/JobContext;";
    private static final String OLD_JOB = "Lorg/apache/hadoop/mapred/JobContext;"; // a subclass of JOB

    private static final String PATH = "Lorg/apache/hadoop/fs/Path;";
    private static final String PATHS = "[" + PATH;
    private static final byte[] HADOOP = "org/apache/hadoop/".getBytes(StandardCharsets.US_ASCII);
    private static final byte[][] MENTIONED = {
        "fs/Path".getBytes(StandardCharsets.US_ASCII),
        "mapreduce/JobContext".getBytes(StandardCharsets.US_ASCII),
        "mapred/JobContext".getBytes(StandardCharsets.US_ASCII),
    };
    // The base class is left as it is: its methods call those of its subclasses, which are checked.
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

    /** Whether the virtual machine was started with the agent. */
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
        } catch (Throwable failure) { // the virtual machine would ignore it without a word
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

    /** Whether the bytes {@code text} are at that place of the code. */
    private static boolean isAt(byte[] code, int at, byte[] text) {
        int length = 0;
        while (length < text.length && at + length < code.length && code[at + length] == text[length]) {
            length++;
        }
        return length == text.length;
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
            boolean hasInstanceCode = (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0;
            if (isStream && name.equals("close") && types.equals("()V")) {
                changed = true;
                return new ClosingMethod(next);
            }
            if (hasInstanceCode && JOB_METHODS.contains(name)
                    && (types.startsWith("(" + JOB) || types.startsWith("(" + OLD_JOB))) {
                changed = true;
                return new JobMethod(next, name);
            }
            if (!hasInstanceCode || !CHANGING_METHODS.contains(name) || !types.contains(PATH)) {
                return next;
            }
            changed = true;
            return new CheckedMethod(next, name, Type.getArgumentTypes(types));
        }
    }

    /** A method with calls at its beginning, before each return, and for each exception. */
    private abstract static class EnclosedMethod extends MethodVisitor {
        private final Label begin = new Label();
        private final Label end = new Label();

        EnclosedMethod(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        /** Adds the calls after enter. */
        abstract void addChecks();

        /** Adds the calls before a return. */
        void addBeforeReturn() {}

        @Override
        public void visitCode() {
            super.visitCode();
            call("enter", "()V");
            visitLabel(begin);
            addChecks();
        }

        @Override
        public void visitInsn(int instruction) {
            if (instruction >= Opcodes.IRETURN && instruction <= Opcodes.RETURN) {
                addBeforeReturn();
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
        void addChecks() {
            forEachPath("beforeChange");
            if (name.startsWith("rename") && pathArguments() == 2) {
                visitVarInsn(Opcodes.ALOAD, 0);
                loadPaths();
                call("beforeRename", "(Ljava/lang/Object;" + PATH + PATH + ")V");
            } else if (TREE_METHODS.contains(name)) {
                forEachPath("beforeTree");
            } else if (FILE_METHODS.contains(name)) {
                forEachPath("beforeFile");
            }
        }

        /** Adds a call of {@code method} for each argument that is a path or an array of paths. */
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
        void addChecks() {
            visitVarInsn(Opcodes.ALOAD, 0);
            visitVarInsn(Opcodes.ALOAD, 1);
            call("beforeJob", "(Ljava/lang/Object;" + JOB + ")V");
        }

        @Override
        void addBeforeReturn() {
            if (ends) {
                visitVarInsn(Opcodes.ALOAD, 0);
                call("jobEnded", "(Ljava/lang/Object;)V");
            }
        }
    }

    /** The method {@code close} of a stream, with a call before it returns. */
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
