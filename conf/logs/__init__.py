"""The log: its lines, their ids, and texts from outside made safe to print."""
