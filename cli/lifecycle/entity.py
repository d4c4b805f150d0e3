"""`causeway entity`: validates, submits and schedules clusters, feeds and processes.

    causeway entity validate FILE... [--document-only]
    causeway entity eval "today(0,0)" --at 2012-04-21T05:00Z
    causeway entity submit FILE... ; causeway entity schedule feed NAME
    causeway entity suspend|resume|delete|definition|dependency|status TYPE NAME
    causeway entity update TYPE NAME FILE ; causeway entity list

Exit status: 0 done, 1 something is not valid or was refused, 2 wrong usage.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from cli.lifecycle.lifecycle_options import (
    EngineCheck,
    add_entity_name,
    add_pig_option,
    add_store_options,
    key_of,
    lenient,
    now_of,
    open_store,
    store_exists,
    strict,
    time_option,
)
from cli.lifecycle.work_observer import environment_observer
from pipeline.falcon import expression
from pipeline.falcon.calendar import format_time
from pipeline.falcon.documents import document, tree
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import BadDocument, BadExpression, DocumentProblem
from pipeline.falcon.rules import entity_rules
from pipeline.falcon.warnings import warnings_of
from pipeline.scheduler import entity_service

_ORDER = {Kind.CLUSTER: 0, Kind.DATASOURCE: 0, Kind.FEED: 1, Kind.PROCESS: 2}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _validate(commands.add_parser("validate", help="check documents"))
    evaluate = commands.add_parser("eval", help="print the time that an EL expression stands for")
    evaluate.add_argument("expression", metavar="EXPRESSION")
    evaluate.add_argument(
        "--at", type=time_option, required=True, metavar="TIME", help="nominal time of the instance"
    )
    submit = commands.add_parser("submit", help="store new entities")
    submit.add_argument("files", nargs="+", type=Path, metavar="FILE")
    _add_set(submit)
    add_store_options(submit)
    update = commands.add_parser("update", help="replace an entity's definition")
    add_entity_name(update)
    update.add_argument("file", type=Path, metavar="FILE")
    _add_set(update)
    add_store_options(update)
    for name, text in _ON_ONE.items():
        one = commands.add_parser(name, help=text)
        add_entity_name(one)
        add_store_options(one)
        if name == "schedule":
            add_pig_option(one)
            one.add_argument(
                "--at", type=time_option, metavar="TIME", help="use this time as the current time"
            )
    listing = commands.add_parser("list", help="list all entities")
    listing.add_argument("--type", choices=[each.value for each in Kind], help="only this type")
    add_store_options(listing)


_ON_ONE = {
    "schedule": "start running a feed or process",
    "suspend": "start no further instances",
    "resume": "continue after suspend",
    "delete": "delete it and its instances",
    "definition": "print its document",
    "dependency": "print the entities it refers to, and those that refer to it",
    "status": "print submitted, running or suspended",
}


def _validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--document-only",
        action="store_true",
        help="do not check the entities that the document refers to",
    )
    parser.add_argument("--all", action="store_true", help="print every problem, one a line")
    _add_set(parser)
    add_store_options(parser)


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of the placeholder ##NAME##",
    )


def run(args: argparse.Namespace) -> int:
    return _COMMANDS[args.command](args)


def _read(path: Path, args: argparse.Namespace) -> bytes:
    """The document with its placeholders replaced. Raises BadDocument if it cannot be read."""
    values = dict(each.partition("=")[::2] for each in args.set)
    try:
        with path.open("rb") as file:
            data = file.read(tree.MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadDocument((DocumentProblem(1, "document", reason),), str(path)) from None
    return document.substitute(data, values)


def _run_validate(args: argparse.Namespace) -> int:
    documents = {path: _checked(path, args) for path in args.files}
    entity_set = None if args.document_only else _entity_set(args, documents.values())
    status = 0
    for path, found in documents.items():
        if isinstance(found, BadDocument):
            problems: tuple[DocumentProblem, ...] = found.problems
        elif entity_set is None:
            problems = entity_rules.alone(found)
        else:
            problems = entity_rules.problems(found, entity_set)
        status |= _print_problems(path, problems, args.all)
        if isinstance(found, Entity) and not problems:
            _warn(path, found, args)
    return status


def _checked(path: Path, args: argparse.Namespace) -> Entity | BadDocument:
    """The entity of the document, or the error if the document is not valid."""
    try:
        return document.read(_read(path, args))
    except BadDocument as error:
        return error


def _entity_set(args: argparse.Namespace, documents: Iterable[object]) -> EntitySet:
    """The submitted entities, replaced and extended by the valid documents of the command line."""
    entities: dict[EntityKey, Entity] = {}
    if store_exists(args.store):
        entities.update(entity_service.read_catalog(open_store(args)).entities)
    for each in documents:
        if not isinstance(each, BadDocument):
            assert isinstance(each, Entity)
            entities[each.key] = each
    return EntitySet.of(entities.values())


def _print_problems(path: Path, problems: tuple[DocumentProblem, ...], print_all: bool) -> int:
    if not problems:
        print(f"{path}: valid")
        return 0
    for problem in problems if print_all else problems[:1]:
        more = "" if print_all or len(problems) == 1 else f" (and {len(problems) - 1} more: --all)"
        print(f"{path}:{problem}{more}")
    return 1


def _run_eval(args: argparse.Namespace) -> int:
    found = expression.parse(args.expression)
    if not isinstance(found, expression.At):
        raise BadExpression(f"{found.text} depends on which instances exist, so it has no time.")
    print(format_time(found.of(args.at)))
    return 0


def _run_submit(args: argparse.Namespace) -> int:
    """Submits clusters and datasources first, then feeds, then processes, which refer to them."""
    store = open_store(args)
    documents = []
    for path in args.files:
        data = _read(path, args)
        documents.append((path, data, _entity(path, data)))
    for path, data, entity in sorted(documents, key=lambda each: _ORDER[each[2].key.kind]):
        try:
            print(entity_service.submit(store, data, args.user, now_of(args), lenient))
        except BadDocument as error:
            raise BadDocument(error.problems, str(path)) from None
        _warn(path, entity, args)
    return 0


def _warn(path: Path, entity: Entity, args: argparse.Namespace) -> None:
    for warning in warnings_of(entity, now_of(args)):
        print(f"{path}:{warning.line}: warning: {warning.reason}", file=sys.stderr)


def _entity(path: Path, data: bytes) -> Entity:
    try:
        return document.read(data)
    except BadDocument as error:
        raise BadDocument(error.problems, str(path)) from None


def _run_update(args: argparse.Namespace) -> int:
    data = _read(args.file, args)
    entity = _entity(args.file, data)
    with environment_observer("causeway entity") as observer:
        store, now = open_store(args, observer.changed), now_of(args)
        print(entity_service.update(store, key_of(args), data, args.user, now, lenient))
    _warn(args.file, entity, args)
    return 0


def _run_schedule(args: argparse.Namespace) -> int:
    store, key, now = open_store(args), key_of(args), now_of(args)
    print(entity_service.schedule(store, key, args.user, now, EngineCheck(args.pig), strict))
    return 0


def _run_suspend(args: argparse.Namespace) -> int:
    print(entity_service.suspend(open_store(args), key_of(args), args.user))
    return 0


def _run_resume(args: argparse.Namespace) -> int:
    print(entity_service.resume(open_store(args), key_of(args), args.user))
    return 0


def _run_delete(args: argparse.Namespace) -> int:
    print(entity_service.delete(open_store(args), key_of(args), args.user))
    return 0


def _run_definition(args: argparse.Namespace) -> int:
    stored = entity_service.find(entity_service.read_catalog(open_store(args)), key_of(args))
    document = stored.document.rstrip()
    if sys.stdout.isatty():
        print(document.decode(errors="replace"))
    else:  # the submitted bytes
        sys.stdout.buffer.write(document + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _run_dependency(args: argparse.Namespace) -> int:
    catalog, key = entity_service.read_catalog(open_store(args)), key_of(args)
    entity_service.find(catalog, key)
    for each in entity_service.dependencies(catalog, key):
        print(f"uses {each}")
    for each in entity_service.dependents(catalog, key):
        print(f"used by {each}")
    return 0


def _run_status(args: argparse.Namespace) -> int:
    stored = entity_service.find(entity_service.read_catalog(open_store(args)), key_of(args))
    since = f" since {format_time(stored.scheduled)}" if stored.scheduled else ""
    print(f"{stored.key}: {stored.status}{since}, submitted by {stored.owner}")
    return 0


def _run_list(args: argparse.Namespace) -> int:
    for each in open_store(args).entities():
        if args.type in (None, each.key.kind.value):
            print(f"{each.key.kind.value:8} {each.key.name:40} {each.status:10} {each.owner}")
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "validate": _run_validate,
    "eval": _run_eval,
    "submit": _run_submit,
    "update": _run_update,
    "schedule": _run_schedule,
    "suspend": _run_suspend,
    "resume": _run_resume,
    "delete": _run_delete,
    "definition": _run_definition,
    "dependency": _run_dependency,
    "status": _run_status,
    "list": _run_list,
}
