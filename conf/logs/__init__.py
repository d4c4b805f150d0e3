"""The log: its lines (`logs`), the ids in them (`log_fields`), and texts from outside made safe to
print (`printable`). `batch_thread` writes entries of other records in the background."""
