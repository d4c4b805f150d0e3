"""`make bench`: what the proxy costs, from one run. The other benches have a module each."""

from bench.proxy import main

main()
