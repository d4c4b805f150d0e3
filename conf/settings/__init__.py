"""Every setting: its row, its validation, and its reload.

`rows` has the theory; `settings` has all groups of settings, the other modules one subject each.
`load` reads a file, `catalog` lists all rows.
"""
