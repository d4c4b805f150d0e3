"""Numbers of bytes for people."""


def size_text(size: float) -> str:
    """Bytes in a unit of thousands: 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if abs(size) < 1000:
            return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} PB"
