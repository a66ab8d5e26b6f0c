"""A parser whose errors are one line, with the word that was meant, and whose help is grouped and as wide as the terminal."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ...base.text.spelling import shorten, spell_line

EXIT_USAGE = 2
LONGEST_LINE = 1200
"""Characters of an error's line that are shown."""

DASHED = ("--build-options", "--options")
"""Options whose value is one or more options of a compiler, as -DN=4: their next word is the value, also if it begins with -."""

GROUPS = {
    "model": (
        "--target", "--entry", "--pipeline", "--without-fix", "--dtype", "--accumulate", "--clml-min-flops",
        "--clml-min-operators", "--recast", "--layout", "--skip-layers", "--rule", "--weights", "--tuned",
        "--shape", "--input", "--input-value", "--seed", "--plan", "--function", "--scalar", "--expected",
        "--launch", "--variant", "--set", "--root", "--build-options", "--options", "--kernel", "--sizes",
        "--planners", "--budget", "--bound",
    ),
    "device": (
        "--device", "--devices", "--profiles", "--compare-with", "--all-drivers", "--isolate", "--time-limit",
        "--sandbox", "--no-cache", "--unsafe-includes", "--scheduler", "--jobs", "--isa-of",
    ),
    "looking": (
        "--checks", "--every-reading", "--strict", "--allow", "--keep-going", "--explain", "--notes",
        "--counters", "--time", "--max-time", "--compare", "--isa", "--max-registers", "--min-waves",
        "--against", "--kernels", "--skip-launches", "--launches", "--max-findings", "--dump", "--audit",
    ),
    "output": (
        "--json", "--html", "--sarif", "--annotations", "--save", "--save-outputs", "--failing",
        "--reproduce", "--to", "--output", "--svg", "--png", "--markdown", "--record", "--export",
        "--write-allow", "--results", "--toml", "--draw", "--all",
    ),
}  # fmt: skip
"""Headings of a command's help, with the options under each; others stay under the first."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **{**options, "formatter_class": _Formatter})
        self._words: list[str] = []

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        self._words = self._join_dashed(list(sys.argv[1:] if args is None else args))
        return super().parse_known_args(self._words, namespace)

    def error(self, message: str) -> NoReturn:
        told = f"error: {message}{self._explain_dash(message)} (see {self.prog} --help)"
        self.exit(EXIT_USAGE, shorten(spell_line(told), LONGEST_LINE) + "\n")

    def _join_dashed(self, words: list[str]) -> list[str]:
        """The words, with each value of DASHED that begins with - joined to its option."""
        joined: list[str] = []
        behind = words.index("--") if "--" in words else len(words)
        for number, word in enumerate(words):
            before = joined[-1] if joined else ""
            takes = before in DASHED and before in self._option_string_actions and number < behind
            if takes and word.startswith("-") and word not in self._option_string_actions:
                joined[-1] = f"{before}={word}"
            else:
                joined.append(word)
        return joined

    def _explain_dash(self, message: str) -> str:
        """What to write instead of a value that was taken for an option, if that may be the reason of an error."""
        known = self._option_string_actions
        odd = [word for word in self._words if word.startswith("-") and len(word) > 2 and word.partition("=")[0] not in known]
        if not odd:
            return ""
        if message.endswith("expected one argument"):
            option = message.partition("argument ")[2].partition(":")[0].rpartition("/")[2]
            return f"; a value that begins with - is written {option}={odd[0]}"
        if "are required" not in message:
            return ""
        meant = suggest(odd[0].partition("=")[0], known)
        return f"; {odd[0]}{meant}" if meant else f"; {odd[0]} begins with - as options do: -- goes before such names"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}{suggest(str(value), known)} (choose from {', '.join(known)})"
            )

    def refuse_unknown(self, words: Sequence[str]) -> None:
        """End with the error of words that no option takes, with the one that was meant."""
        if words:
            known = list(self._option_string_actions)
            hint = next((found for word in words if (found := suggest(word.partition("=")[0], known))), "")
            files = [word for word in words if word.startswith("-") and os.path.lexists(word)]
            hint += f"; the file of this name is ./{files[0]}" if files else ""
            self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def group_options(self) -> None:
        """Put the options under headings; those that are under another than the parser's own stay there."""
        own = self._optionals._group_actions
        for title, flags in GROUPS.items():
            found = [action for action in own if any(flag in flags for flag in action.option_strings)]
            if found:
                group = self.add_argument_group(title)
                for action in found:
                    own.remove(action)
                    group._group_actions.append(action)


def suggest(word: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?" for names close to a wrong one, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""


class _Formatter(argparse.HelpFormatter):
    """Keeps the lines of examples, and fills paragraphs to the width of the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for whole in _join(text.splitlines()) for line in _wrap(whole, width - len(indent)))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_long_words=True, break_on_hyphens=False)


def _join(lines: Iterable[str]) -> list[str]:
    """Lines of a paragraph as one; those that are indented, and what comes after an empty line, begin another."""
    joined: list[str] = []
    for line in lines:
        follows = joined and line and not line.startswith(" ") and not _COLUMN.match(line)
        if follows and joined[-1] and not joined[-1].startswith(" "):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _wrap(line: str, width: int) -> list[str]:
    """A line in parts that fit, indented as it is; a comment behind a command below it, and a command as a shell takes it."""
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    command, mark, comment = line.partition("  # ")
    if mark and command.strip() and len(command.rstrip()) <= width:
        return [command.rstrip(), *_wrap(f"{indent}    # {comment}", width)]
    end = " \\" if indent and command.lstrip().startswith("adreno-sim ") else ""
    column = _COLUMN.match(line)  # of a term and what it means
    below = " " * column.end() if column else f"{indent}# " if line.lstrip().startswith("# ") else indent
    room = max(20 + len(below), width - len(end))
    wrapped = textwrap.wrap(
        line.strip(), room, initial_indent=indent, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    )
    return [part + end for part in wrapped[:-1]] + wrapped[-1:]


_COLUMN = re.compile(r"\S+ {2,}(?=\S)")
