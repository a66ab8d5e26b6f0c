"""Advice about a plan as a part of the page: what the plan as compiled takes and why, what to try, which tensors to attack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.text.spelling import spell_line
from ..page import bar, escape, swatch
from . import advice_text

if TYPE_CHECKING:
    from ...compiler.plan.advice.advice import Advice, Change, PeakTensor
    from ...compiler.plan.compare import PlannerResult
    from ...compiler.plan.footprint import Footprint

CAUSES = {
    "dense": ("tensors", "the tensors at the peak without padding", "#4e79a7"),
    "padding": ("padding", "row pitch and alignment", "#a0cbe8"),
    "mismatch": ("slots too large", "storages larger than the tensors in them", "#f28e2b"),
    "idle": ("idle storages", "storages that hold nothing at the peak", "#e15759"),
    "gaps": ("gaps", "free bytes between tensors", "#b6992d"),
    "inflation": ("item size", "textures planned times their item size", "#9d3e6c"),
}
"""Cause of bytes -> its name, what it is, its colour."""

MEANINGS = {
    "fuse": "its reader computes it, so that it takes no memory",
    "in place": "it takes the bytes of an input that ends there",
    "recompute": "it ends early and is computed again when it is needed",
    "half": "float16 in place of float32",
    "other scope": "a buffer in place of a texture, or a texture in place of a buffer",
}


def section(footprint: Footprint) -> str:
    """The part of the page; empty for a trace, which has no compiled plan."""
    if footprint.advice is None:
        return ""
    runs = footprint.rows[0]
    parts = [
        '<section id="advice">',
        f"<h2>As compiled: {_size(runs.total)}, {_over(runs, footprint)}</h2>",
        _causes(runs),
        _next(footprint),
        _tensors(footprint.advice),
        "</section>",
    ]
    return "\n".join(parts)


def _over(runs: PlannerResult, footprint: Footprint) -> str:
    bound = footprint.problem.lower_bound()
    if not bound or runs.total <= bound:
        return "as little as any plan of these tensors in this order"
    return f"{runs.total / bound:.2f} times the {_size(bound)} that are live at one time"


def _causes(runs: PlannerResult) -> str:
    """A bar of the bytes by cause, with its legend."""
    if runs.causes is None or not runs.total:
        return ""
    pieces, legend = [], []
    for field, (name, meaning, colour) in CAUSES.items():
        nbytes = getattr(runs.causes, field)
        if nbytes:
            pieces.append((nbytes / runs.total, colour, f"{name}: {nbytes:,} bytes"))
            legend.append(f'<span title="{meaning}">{swatch(colour)}{name} <b>{_size(nbytes)}</b></span>')
    return f'{bar(pieces, "bytes by cause")}<p class="keys">{"".join(legend)}</p>'


def _next(footprint: Footprint) -> str:
    command = advice_text.next_command(footprint)
    sentence = advice_text.next_result(footprint)
    code = f"<code>{escape(command)}</code>" if command else ""
    return f'<div class="next"><b>Try next</b>{code}<span>{escape(sentence)}</span></div>'


def _tensors(advice: Advice) -> str:
    rows = "\n".join(_row(number, tensor) for number, tensor in enumerate(advice.tensors, 1))
    rest = f"<p class='soft'>{advice.left_out} smaller tensors at the peak are not listed.</p>" if advice.left_out else ""
    about = (
        f"Live together at instruction {advice.when}; first those whose change saves most. Each saving is that of all "
        f"tensors placed again by {escape(advice.planner)}, which takes {_size(advice.base)} without a change. A change alone "
        "saves nothing where the peak is as high at another time."
    )
    return (
        f"<h2>Tensors at the peak: which to attack</h2><p class='soft'>{about}</p>"
        '<table id="attack"><thead><tr><th>#</th><th>made by</th><th>last read by</th><th>bytes</th><th>what would save</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>{rest}"
        f"<p class='soft'>{'; '.join(f'<b>{kind}</b>: {meaning}' for kind, meaning in MEANINGS.items())}.</p>"
    )


def _row(number: int, tensor: PeakTensor) -> str:
    kind = f"{tensor.dtype} {'x'.join(map(str, tensor.shape))}, {tensor.scope}" if tensor.shape else tensor.scope
    changes = "".join(_change(change, change is tensor.best) for change in tensor.changes) or "<span>nothing known</span>"
    made = f"<b>{escape(tensor.producer or 'nothing')}</b><small>{escape(tensor.id)}: {escape(kind)}</small>"
    return (
        f'<tr data-tensor="{escape(spell_line(tensor.id))}" tabindex="0"><td>{number}</td><td>{made}</td>'
        f'<td data-label="last read by">{escape(tensor.reader or "nothing")}</td>'
        f'<td title="{tensor.size:,} bytes">{_size(tensor.size)}</td><td class="changes">{changes}</td></tr>'
    )


def _change(change: Change, best: bool) -> str:
    said = f"saves {_size(change.saves)}" if change.saves > 0 else f"costs {_size(-change.saves)}" if change.saves else "nothing"
    style = "best" if best else "good" if change.saves > 0 else "none"
    title = escape(f"{change.text}: {change.saves:,} bytes ({MEANINGS[change.kind]})")
    return f'<span class="{style}" title="{title}">{change.kind} <b>{said}</b></span>'


def _size(nbytes: int) -> str:
    """Bytes for reading: 1.40 MB, 12.3 kB."""
    if nbytes >= 1_000_000:
        return f"{nbytes / 1e6:,.2f} MB"
    return f"{nbytes / 1e3:.1f} kB" if nbytes >= 1_000 else f"{nbytes} B"
