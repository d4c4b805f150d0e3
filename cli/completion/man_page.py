"""The man page causeway(1), in roff."""

from collections.abc import Iterator

from cli.completion.command_tree import Command, Option

_SYNOPSIS = r"""\fBcauseway\fR \fISUBCOMMAND\fR [\fIOPTIONS\fR] [\fIOPERANDS\fR]"""
_END = r"""
.SH EXIT STATUS
.TP
\fB0\fR
Done.
.TP
\fB1\fR
Failed or refused; standard error has the reason with its code. \fBcauseway check\fR,
\fBcauseway copy verify\fR and \fBcauseway metastore verify\fR: something is wrong or different.
.TP
\fB2\fR
Wrong usage.
.TP
\fB3\fR
\fBcauseway route\fR: the statement would be refused.
.TP
\fB130\fR
Interrupted.
.SH ENVIRONMENT
.TP
\fBCAUSEWAY_CONF\fR
Settings files of lifecycle commands that name none, separated by colons.
.TP
\fBCAUSEWAY_STORE\fR
The lifecycle's store, as \fB\-\-store\fR.
.SH FILES
Settings are a \fIhive\-site.xml\fR or a TOML file; \fBcauseway settings\fR lists them.
\fI.causeway\fR is the folder of \fBcauseway up\fR.
.SH SEE ALSO
.BR beeline (1)
"""


def man_page(program: Command, description: str) -> str:
    """The man page; `causeway completion man >causeway.1` writes it to a file."""
    parts = [
        '.\\" Made by `causeway completion man`.',
        '.TH CAUSEWAY 1 "" "Causeway" "User Commands"',
        ".SH NAME",
        f"causeway \\- {_text(description.rstrip('.'))}",
        ".SH SYNOPSIS",
        _SYNOPSIS,
        ".SH DESCRIPTION",
        "Every table and partition has one primary cluster, where it is written, and any number",
        "of copies elsewhere. Causeway sends each statement, unchanged, to a cluster that has its",
        "data, and refuses, with the reason, what no cluster can do.",
        "Every subcommand has \\fB\\-\\-help\\fR.",
        ".SH SUBCOMMANDS",
    ]
    for command in program.all():
        if not command.commands:
            parts += _section(command)
    return "\n".join(parts) + _END


def _section(command: Command) -> Iterator[str]:
    usage = "".join(f" \\fI{_text(each.usage)}\\fR" for each in command.operands)
    yield f".SS {_text(command.name)}{usage}"
    yield f"{_text(command.summary[:1].upper() + command.summary[1:])}."
    for operand in command.operands:
        if operand.help:
            yield from (".TP", f"\\fI{_text(operand.usage)}\\fR", _text(operand.help))
    for option in command.options:
        if "--help" not in option.names:
            yield from (".TP", _names(option), _text(option.help))


def _names(option: Option) -> str:
    names = ", ".join(f"\\fB{_text(each)}\\fR" for each in option.names)
    return f"{names} \\fI{_text(option.metavar)}\\fR" if option.metavar else names


def _text(text: str) -> str:
    """The text escaped for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
