package causeway.guard;

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
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;

/**
 * A Java agent: every Hadoop file system of the process asks {@link StorageCheck} before it changes
 * anything.
 *
 * <p>All implementations of {@code FileSystem} and {@code AbstractFileSystem} change files in
 * methods that have the names below and take paths. As such a class is loaded, the question is put
 * at the beginning of these methods. So it does not matter which class the configuration, a
 * session's settings or a table's options choose for a scheme, and the class of a file system stays
 * the one that its callers expect.
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

    private static final String PATH = "Lorg/apache/hadoop/fs/Path;";
    private static final String PATHS = "[" + PATH;
    private static final byte[] MARK =
            "org/apache/hadoop/fs/Path".getBytes(StandardCharsets.US_ASCII);
    // Its own methods call those of its subclasses.
    private static final String BASE = "org/apache/hadoop/fs/FileSystem";
    private static final String CHECK = "causeway/guard/StorageCheck";

    private static volatile boolean active;

    private StorageAgent() {}

    /** Called by the virtual machine for {@code -javaagent:causeway-guard.jar}. */
    public static void premain(String options, Instrumentation instrumentation) {
        new ClassWriter(0); // without ASM the process must not start
        instrumentation.addTransformer(new StorageAgent());
        active = true;
    }

    /** Whether the file systems of this process are checked. */
    static boolean isActive() {
        return active;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] code) {
        if (name == null || loader == null || name.equals(BASE)
                || name.startsWith("causeway/guard/") || !mentionsPath(code)) {
            return null;
        }
        try {
            ClassReader reader = new ClassReader(code);
            if ((reader.getAccess() & Opcodes.ACC_INTERFACE) != 0) {
                return null;
            }
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            CheckedClass checked = new CheckedClass(writer);
            reader.accept(checked, 0);
            return checked.changed ? writer.toByteArray() : null;
        } catch (Throwable failure) { // the virtual machine would ignore it
            System.err.println("causeway guard: the writes of " + name + " are not checked: " + failure);
            return null;
        }
    }

    private static boolean mentionsPath(byte[] code) {
        for (int at = 0; at <= code.length - MARK.length; at++) {
            int same = 0;
            while (same < MARK.length && code[at + same] == MARK[same]) {
                same++;
            }
            if (same == MARK.length) {
                return true;
            }
        }
        return false;
    }

    private static final class CheckedClass extends ClassVisitor {
        boolean changed;

        CheckedClass(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String types, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, types, signature, thrown);
            boolean runs = (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0;
            if (!runs || !CHANGES.contains(name) || !types.contains(PATH)) {
                return next;
            }
            changed = true;
            return new CheckedMethod(next, Type.getArgumentTypes(types));
        }
    }

    private static final class CheckedMethod extends MethodVisitor {
        private final Type[] arguments;

        CheckedMethod(MethodVisitor next, Type[] arguments) {
            super(Opcodes.ASM9, next);
            this.arguments = arguments;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            int local = 1; // after `this`
            for (Type argument : arguments) {
                String type = argument.getDescriptor();
                if (type.equals(PATH) || type.equals(PATHS)) {
                    visitVarInsn(Opcodes.ALOAD, 0);
                    visitVarInsn(Opcodes.ALOAD, local);
                    visitMethodInsn(Opcodes.INVOKESTATIC, CHECK, "beforeChange",
                            "(Ljava/lang/Object;" + type + ")V", false);
                }
                local += argument.getSize();
            }
        }
    }
}
