"""Runs the instances of scheduled entities.

    entity -> `schedule.Schedule` -> `plan(schedule, situation, now)` -> steps -> `server`

A schedule is one recurring piece of work of an entity on a cluster: replicate, evict, watch,
process, import or export. It has an instance for each nominal time of its calendar, whose states
and transitions are in `states`. `plan` is pure; `store` keeps entities and instances; `server`
executes the steps with `work.Actions`, and has a lease with a fence for each instance that it runs.
"""
