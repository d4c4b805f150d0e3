"""Answers the calls of a client's connection; one module a subject."""
