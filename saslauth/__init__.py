"""SASL for Thrift: negotiations, their mechanisms, and the protection of later messages.

`tokens` has the mechanism for delegation tokens.
"""
