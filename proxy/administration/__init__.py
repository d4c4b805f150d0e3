"""Requests of operators: what there are, the answers, and the REST API."""
