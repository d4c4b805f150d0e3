"""The clusters' Thrift Servers: connections, credentials, a user's session inside one, health."""
