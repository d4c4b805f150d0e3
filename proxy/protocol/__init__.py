"""HiveServer2's protocol without I/O: turns bytes into requests, and replies into bytes.

A frame contains one Thrift message, and a message one call (`requests`) or one reply (`replies`).
Requests are small and decoded whole; the rows of results are large and never decoded.
"""
