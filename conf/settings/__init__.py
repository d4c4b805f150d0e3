"""Every setting: read, validated, reloaded."""
