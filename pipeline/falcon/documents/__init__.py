"""Falcon's XML documents: read, checked against the schemas, and made into entities."""
