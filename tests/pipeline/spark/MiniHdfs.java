import java.io.File;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS in one process: prints the name node's ports, and ends with its input. Argument: a folder. */
public final class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set("dfs.namenode.fs-limits.min-block-size", "1024");
        conf.set("dfs.permissions.superusergroup", "root");
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
