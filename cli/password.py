"""`causeway password`: one line of a password file, from a password that nobody sees."""

import argparse
import getpass
import sys

from cli.errors import NoPassword
from proxy.auth.password_file import made


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="whose password it is")


def run(args: argparse.Namespace) -> int:
    """Asks twice on a terminal; else reads the first line of the standard input."""
    password = _asked() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    try:
        print(made(args.name, password))
    except ValueError as error:
        raise NoPassword(f"no entry can be made: {error}.") from None
    return 0


def _asked() -> str:
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise NoPassword("the two are not the same.")
    return password
