"""The analysis of statements, in the event loop or in processes of their own."""
