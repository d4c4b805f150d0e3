"""`causeway check`: what is wrong with a configuration, and what it can reach.

`checks` makes the list of checks of the settings and `report` prints their results, both without
I/O. `runner` runs them side by side by the probes in `services`, `files` and `stores`.
"""
