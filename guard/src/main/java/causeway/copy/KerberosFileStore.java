package causeway.copy;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A file system that throws {@link KerberosRefused} for failures of Kerberos: Hadoop's own errors name
 * neither the calling principal nor the service.
 */
final class KerberosFileStore implements InvocationHandler {
    private static final String SIMPLE = "SIMPLE authentication is not enabled";
    // Parts of messages, since most of these failures have no class of their own.
    private static final List<String> KERBEROS_MESSAGES = Arrays.asList(
            SIMPLE,
            "Client cannot authenticate via",
            "GSS initiate failed",
            "No valid credentials provided",
            "Server has invalid Kerberos principal",
            "Failed to specify server's Kerberos principal name",
            "No common protection layer",
            "SaslException",
            "KrbException",
            "KerberosAuthException");

    private final FileStore store;
    private final String service;

    private KerberosFileStore(FileStore store, String service) {
        this.store = store;
        this.service = service;
    }

    /** {@code uri} is that of the file system, {@code settings} are its own. */
    static FileStore of(FileStore store, String uri, Configuration settings) {
        String principal = settings.get("dfs.namenode.kerberos.principal", "");
        String service = principal.isEmpty() ? uri : uri + " (" + principal + ")";
        return (FileStore) Proxy.newProxyInstance(
                FileStore.class.getClassLoader(),
                new Class<?>[] {FileStore.class},
                new KerberosFileStore(store, service));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(store, arguments);
        } catch (InvocationTargetException error) {
            Throwable cause = error.getCause();
            throw isOfKerberos(cause) ? refused(cause) : cause;
        }
    }

    static boolean isOfKerberos(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            String text = each.toString();
            if (KERBEROS_MESSAGES.stream().anyMatch(text::contains)) {
                return true;
            }
        }
        return false;
    }

    private KerberosRefused refused(Throwable error) throws IOException {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String reason = String.valueOf(root.getMessage()).split("\n", 2)[0];
        if (reason.contains(SIMPLE)) {
            reason = "it asks for Kerberos, and hadoop.security.authentication is not kerberos in"
                    + " the settings of Hadoop";
        }
        UserGroupInformation user = UserGroupInformation.getCurrentUser();
        String caller = user.getUserName() + (user.hasKerberosCredentials() ? "" : " without a ticket");
        return new KerberosRefused(service + " refused " + caller + ": " + reason);
    }
}
