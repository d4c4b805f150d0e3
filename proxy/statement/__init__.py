"""One statement, from its text to its end.

Read in this order: `steps` (the theory and the table), `events` and `commands` (the two languages),
`machine` (which commands follow an event, and why) with `attempt` (a try in one cluster), and
`statement_runner` (how each command is carried out). `statement_router` answers `Analyse` and
`Route`; `analysis` and `write_queue` are behind it. `cluster_commands`, `dry_run`, `spark_error`
and `claims` each answer one kind of question, and `statement_limits` ends what takes too much.
"""
