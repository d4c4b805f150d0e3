"""The server's nodes in ZooKeeper."""
