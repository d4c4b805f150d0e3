import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * HDFS in one process: prints the name node's ports, and ends with its input. Arguments: a folder,
 * and files with Hadoop settings.
 */
public final class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set("dfs.namenode.fs-limits.min-block-size", "1024");
        conf.set("dfs.permissions.superusergroup", "root");
        for (int i = 1; i < arguments.length; i++) {
            conf.addResource(new Path(arguments[i]));
        }
        UserGroupInformation.setConfiguration(conf);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf, new File(arguments[0])).build();
        cluster.waitActive();
        System.out.println("http " + cluster.getNameNode().getHttpAddress().getPort());
        System.out.println("port " + cluster.getNameNodePort());
        System.out.flush();
        while (System.in.read() >= 0) {}
        cluster.shutdown(true);
        System.exit(0);
    }
}
