"""`causeway settings`: lists the settings, or prints the JSON schema of a TOML settings file."""

import argparse
import json

from conf.settings.catalog import ROWS, json_schema


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only names that contain NAME")
    parser.add_argument(
        "--json-schema", action="store_true", help="print the JSON schema of a TOML settings file"
    )


def run(args: argparse.Namespace) -> int:
    if args.json_schema:
        print(json.dumps(json_schema(), indent=1))
        return 0
    for row in ROWS:
        if not args.names or any(part in row.name for part in args.names):
            print(f"{row.name} = {row.default or '(none)'}  [{row.change.value}]")
            print(f"    {row.sentence}")
    return 0
