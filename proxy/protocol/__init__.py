"""HiveServer2 on the wire: bytes <-> requests and replies, without I/O.

A frame is one thrift message; a message carries one call (`requests`) or one reply
(`replies`). Requests are small and read whole; results are large and never decoded.
"""
