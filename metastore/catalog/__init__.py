"""Tables in the words of the catalog: their columns, types and listings."""
