"""Authentication: passwords, Kerberos, tokens, cookies, and impersonation.

Checks that may block run in a few threads (`throttled_authenticator`); failures are counted by
user and address (`login_throttle`).
"""
