"""The actions of instances on clusters: copy, evict, run a process, look for data."""
