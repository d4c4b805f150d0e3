"""Settings of log-ins, of what users are denied, and of the encryption of connections."""
