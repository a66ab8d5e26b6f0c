"""The scoping of a model for people: tensors with what was asked and decided, copies, and what is wrong."""

from __future__ import annotations

from collections import Counter
from typing import IO, TYPE_CHECKING

from ..console import open_console, teller

if TYPE_CHECKING:
    from rich.table import Table

    from ...compiler.explain.scopes import ScopeCopy, ScopeReport, TensorScope


def show(report: ScopeReport, file: IO[str], everything: bool = False) -> None:
    """Print tensors (textures and contested ones, or all), copies and broken invariants."""
    console = open_console(file)
    say = teller(console)

    say(f"{report.model}, target {report.target}, pipeline {report.pipeline}, rule {report.rule}")
    results, buffers = sum(report.counts.values()), report.counts.get("global", 0)
    say(f"{results} results of calls after fusion: {results - buffers} textures, {buffers} buffers")
    shown = [tensor for tensor in report.tensors if everything or tensor.scope != "global" or tensor.contested]
    if shown:
        console.print(table(shown))
    if len(shown) < len(report.tensors):
        say(f"{len(report.tensors) - len(shown)} more tensors in buffers (--all lists them):")
        for reason, count in Counter(
            tensor.why.partition(":")[0] for tensor in report.tensors if tensor not in shown
        ).most_common():
            say(f"  {count}: {reason}")
    removed = len(report.inserted) - len(report.left)
    say(f"copies between scopes: {len(report.inserted)} inserted, {removed} folded into their producers, {len(report.left)} left")
    for copy in report.left:
        say(f"  {copy_line(copy)}")
    for violation in report.violations:
        say(str(violation))
    say("ok" if report.ok else "failed: scopes disagree")


def copy_line(copy: ScopeCopy) -> str:
    shape = "x".join(copy.shape)
    return f"{copy.source} ({shape}) {copy.origin} -> {copy.to}, as {copy.name}, for {', '.join(copy.readers) or 'the result'}"


def table(tensors: list[TensorScope]) -> Table:
    """One line for each tensor: its type, the scopes its consumers ask for, and the scope it gets."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("tensor", "of", "shape", "dtype", "asked for", "scope", "why a buffer"):
        made.add_column(title, overflow="fold")
    for tensor in tensors:
        asked = "; ".join(f"{wish.consumer}: {wish.scope.removeprefix('global.')}" for wish in tensor.wishes)
        scope = tensor.scope.removeprefix("global.")
        made.add_row(tensor.name, tensor.producer, "x".join(tensor.shape), tensor.dtype, asked, scope, tensor.why)
    return made
