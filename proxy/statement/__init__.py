"""One statement, from its text to its end.

Read in this order: in `machine/`, which does no I/O, `steps` (the theory and the table), `events`
and `commands` (the two languages), `machine` (which commands follow an event, and why), `attempt`
(a try in one cluster) and `retries` (when there is another one); then `statement_runner` (how each
command is carried out). `statement_router` answers `Analyse` and `Route`; `analysis` and
`write_queue` are behind it. `dry_run` and `spark_error` each answer one kind of question, and
`statement_limits` ends what takes too much.
"""
