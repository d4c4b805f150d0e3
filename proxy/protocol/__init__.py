"""HiveServer2's protocol without I/O: turns bytes into requests, and replies into bytes.

A frame contains one Thrift message, and a message one call (`requests`) or one reply (`replies`).
Requests are small and are decoded whole; the rows of results are large and are never decoded.
"""
