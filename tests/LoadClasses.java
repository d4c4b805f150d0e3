import java.nio.file.Files;
import java.nio.file.Path;

/** Loads each class that a list names, as tests/class_archive.py writes it. */
public class LoadClasses {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            if (!line.startsWith("@") && !line.startsWith("#")) {
                try {
                    Class.forName(
                            line.split(" ")[0].replace('/', '.'),
                            false,
                            ClassLoader.getSystemClassLoader());
                } catch (ReflectiveOperationException | LinkageError absent) {
                    // It needs what is not there; a virtual machine that crashes ends the program.
                }
            }
        }
    }
}
