"""What listings and metadata calls cost, and the metastore view."""
