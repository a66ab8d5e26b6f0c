"""Which functions of a module in vectors go into their callers."""

from __future__ import annotations

from adreno_sim.engine.llvm.inlining import LARGE, SMALL, mark_inlined


def function(name: str, lines: int, *calls: str, attributes: str = "#0") -> str:
    body = [f"  call void @{callee}(ptr %p)" for callee in calls]
    body += ["  store i8 0, ptr %p"] * (lines - len(body))
    return "\n".join([f"define internal void @{name}(ptr %p) {attributes} {{", *body, "}"])


def marked(*functions: str) -> list[str]:
    heads = [text.split("\n", 1)[0] for text in mark_inlined(functions)]
    return [head[head.index("@") + 1 : head.index("(")] for head in heads if head.endswith("#4 {")]


def test_small_ones_go_into_every_caller_and_larger_ones_into_the_only_one():
    small, once, twice, large = (
        function(name, lines)
        for name, lines in (("small", SMALL - 1), ("once", SMALL + 9), ("twice", SMALL + 9), ("large", LARGE + 9))
    )
    caller = function("caller", 20, "small", "small", "once", "twice", "twice", "large", attributes="#2")
    assert marked(small, once, twice, large, caller) == ["small", "once"]


def test_what_has_attributes_of_its_own_stays():
    assert marked(function("cold", 3, attributes="#1"), function("caller", 3, "cold", attributes="#2")) == []
