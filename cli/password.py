"""`causeway password`: prints a line for a password file."""

import argparse
import getpass
import sys

from cli.errors import NoPassword
from proxy.auth.passwords.password_file import password_line


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the user's name")


def run(args: argparse.Namespace) -> int:
    """Reads the password twice from a terminal, or from the first line of standard input."""
    password = _prompt() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    try:
        print(password_line(args.name, password))
    except ValueError as error:
        raise NoPassword(f"no entry can be made: {error}.") from None
    return 0


def _prompt() -> str:
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise NoPassword("the two passwords differ.")
    return password
