"""`causeway completion`: prints completion scripts for shells, and the man page.

`command_tree` turns argparse's parsers into a tree of commands. One module for each shell and one
for the man page format that tree. All modules but `completion` are pure.
"""
