package causeway.guard;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;

/**
 * Makes the Thrift Server of Spark 3.5 create a {@code ColumnarStatement} for each statement. Spark has no
 * setting for this class. A version whose constructor differs is left as it is.
 */
public final class StatementHook implements ClassFileTransformer {
    private static final String MANAGER =
            "org/apache/spark/sql/hive/thriftserver/server/SparkSQLOperationManager";
    private static final String SPARK_STATEMENT =
            "org/apache/spark/sql/hive/thriftserver/SparkExecuteStatementOperation";
    private static final String COLUMNAR_STATEMENT = "causeway/guard/results/ColumnarStatement";
    private static final String CONSTRUCTOR = "(Lorg/apache/spark/sql/SQLContext;"
            + "Lorg/apache/hive/service/cli/session/HiveSession;"
            + "Ljava/lang/String;Ljava/util/Map;ZJ)V";

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] code) {
        if (!MANAGER.equals(name)) {
            return null;
        }
        try {
            ClassReader reader = new ClassReader(code);
            ClassWriter writer = new ClassWriter(reader, 0);
            StatementReplacer replacer = new StatementReplacer(writer);
            reader.accept(replacer, 0);
            return replacer.isKnown ? writer.toByteArray() : null;
        } catch (Throwable failure) { // the virtual machine would ignore it
            System.err.println("causeway guard: results are not packed in columns: " + failure);
            return null;
        }
    }

    private static final class StatementReplacer extends ClassVisitor {
        boolean isKnown;

        StatementReplacer(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String types, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, types, signature, thrown);
            return new MethodVisitor(Opcodes.ASM9, next) {
                @Override
                public void visitTypeInsn(int instruction, String type) {
                    boolean isCreated = instruction == Opcodes.NEW && type.equals(SPARK_STATEMENT);
                    super.visitTypeInsn(instruction, isCreated ? COLUMNAR_STATEMENT : type);
                }

                @Override
                public void visitMethodInsn(
                        int instruction, String owner, String method, String types, boolean isInterface) {
                    boolean isCreated = instruction == Opcodes.INVOKESPECIAL && owner.equals(SPARK_STATEMENT);
                    isKnown |= isCreated && types.equals(CONSTRUCTOR);
                    super.visitMethodInsn(
                            instruction, isCreated ? COLUMNAR_STATEMENT : owner, method, types, isInterface);
                }
            };
        }
    }
}
