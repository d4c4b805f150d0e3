"""`causeway completion`: completes command lines in shells, and prints the man page.

`command_tree` reads argparse's parsers; a module for each shell and one for the man page make a
text of that. All but `completion` are pure.
"""
