package causeway.guard;

import causeway.guard.writes.StatementWrites;
import java.io.IOException;
import java.util.Map;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Carries requests of an executor's agent to its driver: whether a running command covers a file, and the
 * settings of the metastore's views. Put this class in {@code spark.plugins} if executors are processes of
 * their own.
 */
public final class WritePlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new DriverPlugin() {
            @Override
            public Object receive(Object message) throws IOException {
                return StatementWrites.reply(message);
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorPlugin() {
            @Override
            public void init(PluginContext context, Map<String, String> extra) {
                StatementWrites.connect(context);
            }
        };
    }
}
