"""The journal of running writes, and the removal of marks of writes whose end was not seen."""
