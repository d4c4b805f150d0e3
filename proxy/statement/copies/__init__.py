"""Copies that statements have made: by COPY, and for a query which no cluster can run."""
