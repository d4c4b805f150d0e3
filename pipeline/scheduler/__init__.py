"""Running what is scheduled.

    documents -> `schedule.Schedule` -> `plan.plan(schedule, state, now)` -> steps -> effects

A *schedule* is one recurring piece of work of an entity on a cluster: replicate, evict, watch
or process. Its *instances* stand at nominal times; `states` is the table of what may happen to
one. `plan` is pure; `store` keeps entities and instances; `server` carries the steps out with
`work.Actions`, holding a lease with a fence for each instance that it runs.
"""
