"""Reads Falcon's XML documents, checks them against the schemas, and makes entities of them."""
