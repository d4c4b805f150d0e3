"""Authentication: passwords, Kerberos, tokens, cookies, and impersonation.

Checks that may block run in a small thread pool (`throttled_authenticator`). Failed log-ins are
counted by user and by address (`login_throttle`).
"""
