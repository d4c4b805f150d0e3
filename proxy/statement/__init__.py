"""One statement, from its text to its end.

Read in this order: in `machine/`, which does no I/O, `steps` (the theory and the table), `events`
and `commands` (the two languages), `machine` (which commands follow an event, and why), `attempt`
(a try in one cluster) and `retries` (when there is another one); then `statement_runner` (how each
command is carried out) and `services` (what it calls for that). `statement_router` carries out
`Analyse` and `Route`, with `analysis/`. `write_queue/` orders the writes of one table.
`running_writes/` removes marks of writes whose end was not seen. `copies/` makes copies for COPY
and for queries. `dry_run` decides without running, `spark_error` has Spark parse a statement,
`statement_places` and `statement_limits` bound what statements take.
"""
