"""The decisions of one statement, without I/O: events in, commands out."""
