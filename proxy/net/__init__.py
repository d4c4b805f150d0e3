"""The server: connections of clients, connections to clusters, and the statements between."""
