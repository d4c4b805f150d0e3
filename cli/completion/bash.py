"""The completion script for bash: a table of the commands, and a function that reads the words
before the cursor. It needs no other package and runs in bash 3.2, which macOS has."""

from collections.abc import Iterable

from cli.completion.command_tree import Command, Operand, Option, Value

_FUNCTIONS = r"""
_causeway() {
    local cur="${COMP_WORDS[COMP_CWORD]}" word path="" option="" i IFS=$' \t\n'
    local commands options files folders texts choices operands
    _causeway_command ""
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ -n $option && $word == "=" ]]; then
            continue
        elif [[ -n $option ]]; then
            option=""
        elif [[ $word == -* ]]; then
            case " $files $folders $texts " in *" $word "*) option="$word" ;; esac
            case " $choices " in *" $word="*) option="$word" ;; esac
        elif [[ " $commands " == *" $word "* ]]; then
            path="${path:+$path }$word"
            _causeway_command "$path"
        fi
    done
    [[ $cur == "=" ]] && cur=""
    COMPREPLY=()
    if [[ -n $option ]]; then
        _causeway_value "$option"
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ -n $commands ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$cur"))
    else
        COMPREPLY=($(compgen -W "${operands/<file>/}" -- "$cur"))
        [[ $operands == *"<file>"* ]] && _causeway_paths -f
    fi
}

_causeway_value() {
    local each
    if [[ " $files " == *" $1 "* ]]; then
        _causeway_paths -f
    elif [[ " $folders " == *" $1 "* ]]; then
        _causeway_paths -d
    else
        for each in $choices; do
            [[ $each == "$1="* ]] && COMPREPLY+=($(compgen -W "${each#*=}" -- "$cur"))
        done
    fi
}

_causeway_paths() {
    local IFS=$'\n'
    COMPREPLY+=($(compgen "$1" -- "$cur"))
    compopt -o filenames 2>/dev/null
}

complete -F _causeway causeway
"""


def bash_script(program: Command) -> str:
    """The script; `eval "$(causeway completion bash)"` loads it."""
    cases = "\n".join(_case(each) for each in program.all())
    return (
        "# Completion of causeway for bash, made by `causeway completion bash`.\n\n"
        "# Sets the options and operands of the command in $1. A choice is OPTION=VALUE.\n"
        "_causeway_command() {\n"
        '    commands="" options="" files="" folders="" texts="" choices="" operands=""\n'
        f'    case "$1" in\n{cases}\n    esac\n}}\n{_FUNCTIONS}'
    )


def _case(command: Command) -> str:
    fields = {
        "commands": [each.words[-1] for each in command.commands],
        "options": _names(command.options),
        "files": _names(each for each in command.options if each.value is Value.FILE),
        "folders": _names(each for each in command.options if each.value is Value.FOLDER),
        "texts": _names(each for each in command.options if each.value is Value.TEXT),
        "choices": [
            f"{name}={choice}"
            for each in command.options
            for name in each.names
            for choice in each.choices
        ],
        "operands": [word for each in command.operands for word in _words(each)],
    }
    lines = [f'            {name}="{" ".join(words)}"' for name, words in fields.items() if words]
    return "\n".join((f'        "{" ".join(command.words)}")', *lines, "            ;;"))


def _names(options: Iterable[Option]) -> list[str]:
    return [name for each in options for name in each.names]


def _words(operand: Operand) -> tuple[str, ...]:
    return ("<file>",) if operand.value in (Value.FILE, Value.FOLDER) else operand.choices
