"""The completion script for zsh: a function for each command, which calls zsh's `_arguments`."""

from cli.completion.command_tree import Command, Operand, Option, Value

_ACTIONS = {Value.TEXT: " ", Value.FILE: "_files", Value.FOLDER: "_files -/"}
_END = """
if [[ $funcstack[1] == _causeway ]]; then
    _causeway "$@"
else
    compdef _causeway causeway
fi
"""


def zsh_script(program: Command) -> str:
    """The script, for a file `_causeway` in a folder of `fpath`, or for `eval` after `compinit`."""
    functions = "\n".join(_function(each) for each in program.all())
    return (
        "#compdef causeway\n"
        "# Completion of causeway for zsh, made by `causeway completion zsh`.\n\n"
        f"{functions}{_END}"
    )


def _function(command: Command) -> str:
    name = _name(command)
    specs = [_option(each) for each in command.options]
    if not command.commands:
        specs += [_operand(number, each) for number, each in enumerate(command.operands, 1)]
        lines = " \\\n        ".join(("_arguments -s", *specs))
        return f"{name}() {{\n    {lines}\n}}\n"
    lines = " \\\n        ".join(
        ("_arguments -C", *specs, "'1:command:->command'", "'*::argument:->argument'")
    )
    described = "\n            ".join(
        _quoted(f"{each.words[-1]}:{each.summary}") for each in command.commands
    )
    return f"""{name}() {{
    local curcontext="$curcontext" state line
    local -a commands
    {lines}
    case $state in
    command)
        commands=(
            {described}
        )
        _describe command commands
        ;;
    argument)
        (( $+functions[{name}_$line[1]] )) && {name}_$line[1]
        ;;
    esac
}}
"""


def _name(command: Command) -> str:
    return "_".join(("_causeway", *command.words))


def _option(option: Option) -> str:
    """A specification of `_arguments`: `*` means that the option may be repeated, `=` that its
    value may also follow in the same word."""
    text = f"[{_escaped(option.help)}]"
    if option.value is not Value.NONE:
        text = f"={text}:{_escaped(option.metavar)}:{_action(option)}"
    return " ".join(_quoted(f"*{name}{text}") for name in option.names)


def _operand(number: int, operand: Operand) -> str:
    position = "*" if operand.usage.endswith(("..", "..]")) else str(number)
    return _quoted(f"{position}:{_escaped(operand.usage)}:{_action(operand)}")


def _action(argument: Option | Operand) -> str:
    return _ACTIONS.get(argument.value) or f"({' '.join(argument.choices)})"


def _escaped(text: str) -> str:
    for each in "\\[]:":
        text = text.replace(each, f"\\{each}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
