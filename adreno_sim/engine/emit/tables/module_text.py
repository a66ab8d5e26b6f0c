"""The LLVM text of a compiled kernel, and the tables that give its reports a meaning: what is kept of it on disk."""

from __future__ import annotations

from dataclasses import field

from ....records import dataclass
from ...abi.count_table import CountTable
from ...abi.debug_table import DebugTable
from ...abi.print_format import PrintCall
from ..diagnostic_sites import DiagnosticSite
from .post_dominated_sites import PostDominatedSites


@dataclass(frozen=True)
class ModuleText:
    """The LLVM text of a compiled kernel, `memory` bytes of private memory per worker, and what sites and prints mean.

    notes: findings that every launch has. polls: some loop is not proven short. may_fail: a deferred check is left. flat:
    regions run one sub-group at a time. post_dominated (level full): which sites of texel writes always follow which. lanes:
    work-items that run as one vector; 1 for scalar code, and `reason` then says why. `text` is empty if deferred checks were
    asked for at level full and the kernel does not vectorise. failures: of analyses; the code then does not use these.
    counted: what the counters of counted code mean. debugged: what the debug block of code under the debugger means.
    """

    text: str
    memory: int
    sites: tuple[DiagnosticSite, ...]
    prints: tuple[PrintCall, ...]
    static_findings: tuple[DiagnosticSite, ...]
    polls: bool
    may_fail: bool
    by_subgroup: bool = False
    post_dominated: PostDominatedSites = field(default_factory=PostDominatedSites)
    lanes: int = 1
    reason: str = ""
    failures: tuple[str, ...] = ()
    counted: CountTable | None = None
    debugged: DebugTable | None = None
