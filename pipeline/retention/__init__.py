"""Eviction of old partitions and their copies (FA-V1..V5).

A *dating* says how a table's partition keys tell a time: `ds=${YEAR}-${MONTH}-${DAY}`, or several
keys (`year=${YEAR}`, `month=${MONTH}`), beside static keys (`region=us`) that choose which
partitions a policy is about at all. A partition's *date* is the time that its keys tell, never
when it was made.
"""
