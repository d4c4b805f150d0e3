package causeway.hudi;

import java.io.IOException;

/**
 * Refuses a Hudi table that cannot be read with certainty. The codes are those of docs/reference/errors.md,
 * which {@code pipeline/hudi/errors.py} has too.
 */
public final class HudiReadException extends IOException {
    static final String UNSUPPORTED = "CW802";
    static final String DAMAGED = "CW803";
    static final String HOLLOW = "CW804";
    static final String RANGE = "CW805";

    private static final long serialVersionUID = 1L;

    HudiReadException(String code, String text) {
        super("[" + code + "] " + text);
    }

    HudiReadException(String code, String text, Throwable cause) {
        super("[" + code + "] " + text, cause);
    }
}
