"""The HiveServer2 endpoint: its protocol, sessions that span several clusters, and the server."""
