"""Kerberos: GSSAPI in SASL, SPNEGO over HTTP, and the protection of messages."""
