"""Passwords checked by an LDAP directory."""
