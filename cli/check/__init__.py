"""`causeway check`: finds errors in a configuration, and tests the services that it names.

`checks` lists the checks for the settings and `report` formats their results, both without I/O.
`runner` runs the checks concurrently, with the functions of `services`, `ports`, `files` and
`stores`.
"""
