"""`adreno-sim explain`: what a kind of finding means, with an example, and how to fix it."""

from __future__ import annotations

import argparse
import difflib
import itertools
import textwrap
from typing import Any

EXIT_OK = 0
WIDTH = 100
"""Columns of the text."""

DETAILS = """\
    adreno-sim explain                  # the kinds, group by group
    adreno-sim explain data-race        # one of them

The same texts are in docs/explanations.md.

exit code: 0; 2 for a kind that there is not
"""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "explain",
        help="what a kind of finding means, with an example, and how to fix it",
        description="Say what a kind of finding means, with an example, and how to fix it.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", nargs="?", metavar="KIND", help="as reports name it, such as data-race (default: list the kinds)")
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    from ...base.errors import AdrenoSimError
    from ...explanations import explanations

    known = explanations()
    if args.kind is None:
        print("\n".join(_list_lines()))
        return EXIT_OK
    if args.kind not in known:
        close = difflib.get_close_matches(args.kind.lower(), known, 1)
        told = f"did you mean {close[0]}?" if close else "adreno-sim explain lists the kinds"
        raise AdrenoSimError(f"explain: no kind of finding is called {args.kind!r}: {told}")
    print("\n".join(_text_lines(args.kind)))
    return EXIT_OK


def _list_lines() -> list[str]:
    from ...explanations import explanations

    lines: list[str] = []
    for group, members in itertools.groupby(explanations().values(), key=lambda explanation: explanation.group):
        lines += ["", group] if lines else [group]
        lines += [f"  {member.kind.label:<26}{member.kind.severity!s:<9}{_shorten(member.kind.sentence)}" for member in members]
    return [*lines, "", "adreno-sim explain KIND says more"]


def _shorten(sentence: str) -> str:
    return textwrap.shorten(sentence, WIDTH - 37, placeholder=" ...")


def _text_lines(label: str) -> list[str]:
    from ...explanations import explanations

    told = explanations()[label]
    return [
        f"{label} ({told.kind.severity})",
        "",
        *_wrap(told.means),
        "",
        "Example",
        "",
        *(f"    {line}".rstrip() for line in told.example.splitlines()),
        "",
        "How to fix it",
        "",
        *_wrap(told.fix),
        "",
        f"help: {told.help}",
        f"reference: {told.reference}",
    ]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
