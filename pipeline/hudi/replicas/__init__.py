"""Replicas of Hudi tables: commit by commit, cleaned and archived as their sources."""
