"""Log-ins to the console: sessions, the checks of every request, and the audit of actions."""
