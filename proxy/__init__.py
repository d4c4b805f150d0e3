"""The HiveServer2 endpoint: wire, sessions that travel between clusters, and the server."""
