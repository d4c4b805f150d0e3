"""Requests to the metastore: admitted as they are, admitted with changes, or refused.

`admission` decides a call; the other modules are what it decides with.
"""
