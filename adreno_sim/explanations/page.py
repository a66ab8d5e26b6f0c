"""docs/explanations.md: every kind with its texts. `python -m adreno_sim.explanations.page` prints it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from . import Explanation, explanations

HEAD = """\
# What a kind means and how to fix it

    adreno-sim explain              # the kinds, group by group
    adreno-sim explain data-race    # the text of one

[Kinds of findings](kinds.md) says at which level each is found, [reading a finding](findings.md) what its lines say.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for group, members in itertools.groupby(explanations().values(), key=lambda explanation: explanation.group):
        yield f"## {group}\n"
        for explanation in members:
            yield from _section(explanation)


def _section(explanation: Explanation) -> Iterator[str]:
    kind = explanation.kind
    yield f"### {kind.label}\n"
    yield f"*{kind.severity}.* {_wrapped(explanation.means)}\n"
    yield f"```c\n{explanation.example}\n```\n"
    yield f"{_wrapped(explanation.fix)}\n"
    yield f"*Help:* {explanation.help}. [Reference]({explanation.reference}).\n"


def _wrapped(text: str) -> str:
    return text.replace("\n", " ")


if __name__ == "__main__":
    print(page(), end="")
