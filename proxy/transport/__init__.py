"""Between a socket and a protocol, for clients and clusters: socket options and SASL layers."""
