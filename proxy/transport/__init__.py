"""The layer between sockets and protocols, for clients and clusters: socket options and SASL."""
