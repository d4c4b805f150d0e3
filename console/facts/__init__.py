"""Computes what pages show from the facts of the sources. Pure."""
