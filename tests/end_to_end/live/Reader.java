import java.util.List;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** ADMIN_KEY SECRET_KEY NAMESRV BROKER_ADDRESS USER PASSWORD: a user of ACL 2 who may read, as docs/capture.md says. */
public class Reader {
    public static void main(String[] args) throws Exception {
        SessionCredentials keys = new SessionCredentials(args[0], args[1]);
        DefaultMQAdminExt admin = new DefaultMQAdminExt(new AclClientRPCHook(keys), 5000);
        admin.setNamesrvAddr(args[2]);
        admin.start();
        admin.createUser(args[3], args[4], args[5], "Normal");
        List<String> resources = List.of("Cluster:*", "Topic:*", "Group:*");
        admin.createAcl(args[3], "User:" + args[4], resources, List.of("Get"), List.of(), "Allow");
        System.exit(0);
    }
}
