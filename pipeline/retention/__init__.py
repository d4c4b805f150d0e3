"""Eviction of old partitions and their copies (FA-V1..V5).

A date pattern describes how a table's partition keys contain a date: `ds=${YEAR}-${MONTH}-${DAY}`,
or several keys (`year=${YEAR}`, `month=${MONTH}`). Keys with a fixed value (`region=us`) select the
partitions of a policy. A partition's date is that in its keys, not the time of its creation.
"""
