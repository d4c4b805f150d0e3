package causeway.hudi;

import java.io.IOException;

/**
 * A Hudi table that cannot be read with certainty. The codes are those of docs/reference/errors.md,
 * which the lists of {@code pipeline/hudi} have too.
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
