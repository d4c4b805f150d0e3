"""`python -m bench.fleet`: a day of a fleet."""

from bench.fleet.command import main

main()
