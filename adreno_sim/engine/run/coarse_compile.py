"""Finds out whether a launch runs several of its groups as one, and compiles the code that does."""

from __future__ import annotations

from dataclasses import replace

from ...frontend.program_cache import StoredFunction
from ...ir import ir
from ..abi.launch_facts import LaunchFacts
from ..caching import compiled_cache
from ..coarsen.coarse_grid import CoarseGrid
from ..coarsen.decide import decide, may_be_coarse
from ..coarsen.rewrite import coarsen
from ..llvm import objects
from ..vector import NotVectorizable
from .coarse_launch import CoarseLaunch
from .compiled_kernel import specialize
from .launch_analysis import LaunchAnalysis, analyze_launch


def compile_coarse(analysis: LaunchAnalysis, keep: bool) -> CoarseLaunch | None:
    """Compiles the coarse kernel of a launch, if it is to run that. `keep`: use the disk cache."""
    kernel, spec, facts = analysis.kernel, analysis.spec, analysis.facts
    if not may_be_coarse(spec, facts, analysis.proven.accesses):
        return None
    if keep:
        identity = objects.machine().identity
        grid = compiled_cache.load_or_find("coarsening", decide, kernel, spec, facts, identity).grid
    else:
        grid = decide(kernel, spec, facts).grid
    if grid is None:
        return None
    coarse = analyze_launch(_coarse_kernel(kernel, grid, facts), grid.spec(spec, facts), grid.facts(facts), keep=keep)
    checked = replace(coarse.spec, proofs=coarse.proven.proofs, deferred_checks=spec.checks != "off")
    try:
        compiled = specialize(coarse.kernel, checked, keep=keep)
    except NotVectorizable:
        return None
    usable = compiled.module.lanes == grid.lanes and not compiled.module.polls and not compiled.module.static_findings
    return CoarseLaunch(compiled, coarse.facts.global_size) if usable else None


def _coarse_kernel(kernel: ir.Function, grid: CoarseGrid, facts: LaunchFacts) -> ir.Function:
    """Returns the coarse kernel. Its body is made when it is asked for, as that of a kernel that is known from disk is."""
    digest = f"{kernel.digest}.{grid.lanes}.{grid.row}.{facts.local_size}" if kernel.digest else ""
    head = ir.Function(kernel.name, kernel.params, kernel.result, [], is_kernel=True, loc=kernel.loc, digest=digest)
    return StoredFunction(head, lambda: coarsen(kernel, grid, facts))
