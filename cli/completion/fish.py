"""The completion script for fish: one line for each option and command."""

from collections.abc import Iterator

from cli.completion.command_tree import Command, Operand, Option, Value

_FUNCTIONS = """\
function __causeway_words --description 'the words before the cursor that are no options'
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            contains -- $word $__causeway_with_value; and set skip 1
        else
            echo $word
        end
    end
end

function __causeway_at --description 'whether the command line is one of this command'
    set -l words (__causeway_words) ''
    test -z "$argv"; or string match -q -- "$argv *" "$words"
end

function __causeway_ends_with --description 'whether nothing follows this command'
    set -l words (__causeway_words)
    test "$words" = "$argv"
end
"""


def fish_script(program: Command) -> str:
    """The script; `causeway completion fish | source` loads it."""
    with_value = {
        name
        for command in program.all()
        for option in command.options
        if option.value is not Value.NONE
        for name in option.names
    }
    lines = [line for each in program.all() for line in _lines(each)]
    return "\n".join(
        (
            "# Completion of causeway for fish, made by `causeway completion fish`.\n",
            f"set -g __causeway_with_value {' '.join(sorted(with_value))}\n",
            _FUNCTIONS,
            "complete -c causeway -f",
            *lines,
            "",
        )
    )


def _lines(command: Command) -> Iterator[str]:
    at = _condition("at", command)
    for each in command.commands:
        where, text = _condition("ends_with", command), _quoted(each.summary)
        yield f"complete -c causeway -n {where} -a {each.words[-1]} -d {text}"
    for option in command.options:
        yield f"complete -c causeway -n {at} {_option(option)}"
    for operand in command.operands:
        if values := _values(operand):
            yield f"complete -c causeway -n {at} {values.rstrip()}"


def _condition(test: str, command: Command) -> str:
    return _quoted(" ".join((f"__causeway_{test}", *command.words)))


def _option(option: Option) -> str:
    names = " ".join(
        f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names
    )
    needs = {Value.NONE: "", Value.FILE: "-r "}.get(option.value, "-x ")  # x: no other file
    return f"{names} {needs}{_values(option)}-d {_quoted(option.help)}"


def _values(argument: Option | Operand) -> str:
    """The flags that offer the argument's values; none for free text."""
    if argument.value is Value.CHOICE:
        return f"-a {_quoted(' '.join(argument.choices))} "
    if argument.value is Value.FILE:
        return "-F "
    return "-a '(__fish_complete_directories)' " if argument.value is Value.FOLDER else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
