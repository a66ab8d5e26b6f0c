"""`adreno-sim completion`: what a shell reads to complete commands, options and their values."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

SHELLS = ("bash", "zsh", "fish")

DETAILS = """\
    eval "$(adreno-sim completion bash)"          # in ~/.bashrc
    eval "$(adreno-sim completion zsh)"           # in ~/.zshrc, behind compinit
    adreno-sim completion fish | source           # in ~/.config/fish/config.fish

exit code: 0
"""

_BASH = """\
_adreno_sim() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=
  case "${{COMP_WORDS[1]}} $prev" in
{values}
  esac
  if [ -z "$words" ]; then
    case "$COMP_CWORD ${{COMP_WORDS[1]}}" in
      1\\ *) words={commands} ;;
{options}
    esac
    case "$cur" in -*) ;; *) [ "$COMP_CWORD" -gt 1 ] && words= ;; esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _adreno_sim adreno-sim
"""


def add(commands: Any) -> None:
    """Register the command, behind all others."""
    parser = commands.add_parser(
        "completion",
        help="a script with which a shell completes commands and options",
        description="Print a script for a shell, with which it completes the commands, the options and their values.",
        epilog=DETAILS,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read it")
    parser.set_defaults(run=lambda args: _complete(args, commands.choices))


def _complete(args: argparse.Namespace, parsers: Mapping[str, argparse.ArgumentParser]) -> int:
    print(script(args.shell, parsers), end="")
    return 0


def script(shell: str, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """The script for a shell, of these commands."""
    if shell == "fish":
        return "".join(f"{line}\n" for line in _fish_lines(parsers))
    values = [
        f"    {_pattern(name, flag)}) words={shlex.quote(' '.join(choices))} ;;"
        for name, parser in parsers.items()
        for flag, choices in _choices(parser).items()
    ]
    options = [f"      *\\ {name}) words={shlex.quote(' '.join(_flags(parser)))} ;;" for name, parser in parsers.items()]
    text = _BASH.format(values="\n".join(values), options="\n".join(options), commands=shlex.quote(" ".join(parsers)))
    return f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text


def _pattern(name: str, flag: str) -> str:
    return f"{name}\\ {flag}"


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    """The long options of a command."""
    return [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]


def _choices(parser: argparse.ArgumentParser) -> dict[str, Sequence[str]]:
    """The values of those options that take one of a few."""
    found = [action for action in parser._actions if action.choices]
    return {flag: list(map(str, action.choices or ())) for action in found for flag in action.option_strings}


def _fish_lines(parsers: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    lines = [f"complete -c adreno-sim -n __fish_use_subcommand -a {name}" for name in parsers]
    for name, parser in parsers.items():
        choices = _choices(parser)
        for flag in _flags(parser):
            values = f" -xa {shlex.quote(' '.join(choices[flag]))}" if flag in choices else ""
            lines.append(f"complete -c adreno-sim -n '__fish_seen_subcommand_from {name}' -l {flag.removeprefix('--')}{values}")
    return lines
