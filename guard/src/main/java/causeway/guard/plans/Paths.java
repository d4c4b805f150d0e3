package causeway.guard.plans;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** Compares paths as a statement spells them with paths as Spark resolved them. */
public final class Paths {
    private final Configuration settings;

    public Paths(Configuration settings) {
        this.settings = settings;
    }

    /** Whether the path is one of {@code folders}, which may be patterns, or lies in one of them. */
    public boolean isIn(String path, List<String> folders) {
        String full = qualified(path) + "/";
        for (String folder : folders) {
            if (full.startsWith(beforePattern(qualified(folder)))) {
                return true;
            }
        }
        return false;
    }

    private String qualified(String path) {
        try {
            Path parsed = new Path(path);
            String text = parsed.getFileSystem(settings).makeQualified(parsed).toString();
            return text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
        } catch (IOException | IllegalArgumentException unknown) {
            return path; // it is compared as it is spelled
        }
    }

    /** Returns the folder with a slash at its end; of a pattern the part before its first wildcard. */
    private static String beforePattern(String path) {
        int at = 0;
        while (at < path.length() && "*?[{".indexOf(path.charAt(at)) < 0) {
            at++;
        }
        return at == path.length() ? path + "/" : path.substring(0, at);
    }
}
