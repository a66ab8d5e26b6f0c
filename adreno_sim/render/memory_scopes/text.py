"""The scoping of a model for people: tensors with what was asked and decided, copies, and what is wrong."""

from __future__ import annotations

from collections import Counter
from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, figure_column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.explain.memory_scopes import RuleResult, ScopeCopy, ScopeReport, TensorScope


def _list_wishes(tensor: TensorScope) -> str:
    return "; ".join(f"{wish.consumer}: {wish.scope.removeprefix('global.')}" for wish in tensor.wishes)


COLUMNS: list[Column[TensorScope]] = [
    text_column("tensor", lambda tensor: tensor.name),
    text_column("of", lambda tensor: tensor.producer),
    text_column("shape", lambda tensor: "x".join(tensor.shape)),
    text_column("dtype", lambda tensor: tensor.dtype),
    text_column("asked for", _list_wishes),
    text_column("scope", lambda tensor: tensor.scope.removeprefix("global.")),
    text_column("why a buffer", lambda tensor: tensor.why),
]


RULE_COLUMNS: list[Column[RuleResult]] = [
    text_column("rule", lambda result: result.rule),
    text_column("contested", lambda result: ", ".join(f"{name}: {_short(scope)}" for name, scope in result.contested.items())),
    figure_column("textures", lambda result: str(result.textures)),
    figure_column("copies", lambda result: str(result.copies)),
    figure_column("elements copied", lambda result: f"{result.copied_elements:,}"),
]


def _short(scope: str) -> str:
    return scope.removeprefix("global.")


def show(report: ScopeReport, file: IO[str], everything: bool = False) -> None:
    """Print tensors (textures and contested ones, or all), copies and broken invariants."""
    console = open_console(file)
    say = teller(console)

    say(f"{report.model}, target {report.target}, pipeline {report.pipeline}, rule {report.rule}, weights {report.weights}")
    results, buffers = sum(report.counts.values()), report.counts.get("global", 0)
    say(f"{results} results of calls after fusion: {results - buffers} textures, {buffers} buffers")
    shown = [tensor for tensor in report.tensors if everything or tensor.scope != "global" or tensor.contested]
    if shown:
        print_table(console, COLUMNS, shown, pad_edge=False)
    if len(shown) < len(report.tensors):
        say(f"{len(report.tensors) - len(shown)} more tensors in buffers (--all lists them):")
        for reason, count in Counter(
            tensor.why.partition(":")[0] for tensor in report.tensors if tensor not in shown
        ).most_common():
            say(f"  {count}: {reason}")
    if report.constants:
        scopes = Counter(_short(constant.scope) for constant in report.constants)
        say("constant weights of packed convolutions: " + ", ".join(f"{count} in {name}" for name, count in scopes.items()))
    removed = len(report.inserted) - len(report.left)
    say(f"copies between scopes: {len(report.inserted)} inserted, {removed} folded into their producers, {len(report.left)} left")
    for copy in report.left:
        say(f"  {copy_line(copy)}")
    if report.compared:
        say("consumers disagree; what each rule (--rule) makes of it:")
        print_table(console, RULE_COLUMNS, report.compared, pad_edge=False)
    for violation in report.violations:
        say(str(violation))
    say("ok" if report.ok else "failed: scopes disagree")


def copy_line(copy: ScopeCopy) -> str:
    shape = "x".join(copy.shape)
    return f"{copy.source} ({shape}) {copy.origin} -> {copy.to}, as {copy.name}, for {', '.join(copy.readers) or 'the result'}"
