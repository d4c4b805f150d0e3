package causeway.copy;

import java.io.IOException;

/** Kerberos refused a call. The message names the service, the caller and the reason. */
final class KerberosRefused extends IOException {
    private static final long serialVersionUID = 1L;

    KerberosRefused(String message) {
        super(message);
    }

    @Override
    public String toString() {
        return getMessage();
    }
}
