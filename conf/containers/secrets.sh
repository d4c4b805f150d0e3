#!/bin/sh
# Makes the files of a folder (/secrets) that the other containers read: the passwords of `admin`,
# which is CAUSEWAY_PASSWORD, and of `console`, and the token of the ports for operators. What is
# there stays, but for the password of `admin`.
set -eu
umask 077
cd "${1:-/secrets}"
drawn() { python3 -c 'import secrets; print(secrets.token_urlsafe(32))'; }
[ -s console ] || drawn >console
[ -s tokens ] || echo "console $(drawn)" >tokens
printf '%s\n' "$CAUSEWAY_PASSWORD" | causeway password admin >passwords.new
causeway password console <console >>passwords.new
mv passwords.new passwords
