"""Finds out whether a launch runs several of its groups as one, and compiles the code that does."""

from __future__ import annotations

from dataclasses import replace

from ...base.specs import Size3
from ...frontend.program_cache import StoredFunction
from ...ir import ir
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import Specialization, shadow_of, with_shadow
from ..analysis.failures import attempt
from ..caching import compiled_cache
from ..caching.kernel_memo import KernelMemo
from ..coarsen.coarse_grid import CoarseGrid
from ..coarsen.decision import Decision, may_be_coarse
from ..emit.check import NotVectorizable
from ..llvm import objects
from .coarse_launch import CoarseLaunch
from .compiled_kernel import specialize
from .launch_analysis import LaunchAnalysis, LaunchVariant, analyze_launch


def compile_coarse(variant: LaunchVariant, keep: bool) -> CoarseLaunch | None:
    """Compiles the coarse kernel of a launch, if it is to run that. `keep`: use the disk cache."""
    analysis = variant.analysis
    if not may_be_coarse(variant.spec, analysis.facts, analysis.proven.accesses):
        return None
    return attempt(f"coarser groups of kernel {analysis.kernel.name}", lambda: _compile(variant, keep), None)


def _compile(variant: LaunchVariant, keep: bool) -> CoarseLaunch | None:
    analysis = variant.analysis
    kernel, spec, facts = analysis.kernel, analysis.spec, analysis.facts

    def decide(*_: object) -> Decision:
        return _decide(analysis, keep)

    identity = objects.machine().identity
    found = compiled_cache.load_or_find("coarse", Decision, decide, kernel, spec, facts, identity) if keep else decide()
    if found.grid is None:
        return None
    coarse, coarse_spec = _analyze(analysis, found, keep)
    args = tuple(map(with_shadow, coarse_spec.args, map(shadow_of, variant.spec.args)))
    try:
        compiled = specialize(coarse.kernel, replace(coarse_spec, args=args, deferred_checks=spec.checks != "off"), keep=keep)
    except NotVectorizable:
        return None
    usable = compiled.module.lanes == found.grid.lanes and not compiled.module.polls and not compiled.module.static_findings
    return CoarseLaunch(compiled, coarse.facts.global_size) if usable else None


def _decide(analysis: LaunchAnalysis, keep: bool) -> Decision:
    """Returns the grid of the coarse launch, if there is one that pays."""
    from ..coarsen.decide import find_grid, pays

    kernel, proven = analysis.kernel, replace(analysis.spec, proofs=analysis.proven.proofs)
    found = find_grid(kernel, proven, analysis.facts)
    if found.grid is None:
        return found
    merged = _merged(analysis)
    if merged is not None:
        fewer, copies = merged
        found = replace(find_grid(fewer, *_fewer_items(proven, analysis.facts, copies)), copies=copies)
    coarse, coarse_spec = _analyze(analysis, found, keep)
    try:
        worth = pays(coarse.kernel, coarse_spec, kernel, proven, found.copies)
    except NotVectorizable as reason:
        return Decision(None, f"no vector code: {reason}")
    return found if worth else Decision(None, "it would not cost less")


def _fewer_items(spec: Specialization, facts: LaunchFacts, copies: int) -> tuple[Specialization, LaunchFacts]:
    """Returns those of a launch in which one work-item does the work of `copies` along x."""
    (x, y, z), (whole, high, deep) = spec.local_size, facts.global_size
    local_size, global_size = (x // copies, y, z), (whole // copies, high, deep)
    return replace(spec, local_size=local_size), replace(facts, local_size=local_size, global_size=global_size)


def _analyze(analysis: LaunchAnalysis, decision: Decision, keep: bool) -> tuple[LaunchAnalysis, Specialization]:
    """Returns the facts about the coarse launch, and its specialization with proofs. Its work-items do not race because those of
    the launch do not: they make the same accesses, or fewer, to memory that groups do not share. Nor do they read local memory
    that their group has not written: each read that is left has its writes before it, as in the launch.
    """
    grid = decision.grid
    assert grid is not None
    spec, facts = _fewer_items(analysis.spec, analysis.facts, decision.copies)
    kernel, checks = _coarse_kernel(analysis, grid, spec.local_size), spec.checks
    without_races = replace(grid.spec(spec, facts), checks="bounds" if checks == "full" else checks)
    coarse = analyze_launch(kernel, without_races, grid.facts(facts), keep=keep)
    own = analysis.proven.proofs
    proofs = replace(coarse.proven.proofs, race_free_locals=own.race_free_locals, written_locals=own.written_locals)
    return coarse, replace(coarse.spec, checks=checks, proofs=proofs)


def _coarse_kernel(analysis: LaunchAnalysis, grid: CoarseGrid, local_size: Size3) -> ir.Function:
    """Returns the coarse kernel, the same one for equal arguments. Its body is made when it is asked for, which is not where its
    code is on disk. local_size: of the groups that it runs, with fewer work-items than the launch's own where some are merged."""
    kernel, spec = analysis.kernel, analysis.spec
    assert spec.most_groups is not None
    most_groups = spec.most_groups[0]

    def make_body() -> ir.Function:
        from ..coarsen.rewrite import coarsen

        own = kernel
        if local_size != spec.local_size:
            merged = _merged(analysis)
            assert merged is not None
            own, _ = merged
        return coarsen(own, grid, local_size, most_groups)

    def make() -> ir.Function:
        digest = f"{kernel.digest} {grid} {local_size} {most_groups}" if kernel.digest else ""
        head = ir.Function(kernel.name, kernel.params, kernel.result, [], is_kernel=True, loc=kernel.loc, digest=digest)
        return StoredFunction(head, make_body)

    return _kernels.get(kernel, grid, local_size, most_groups, make=make)


def _merged(analysis: LaunchAnalysis) -> tuple[ir.Function, int] | None:
    """Returns the kernel in which one work-item does the work of several before a tree reduction, and of how many; None if there
    is no such tree. It is found once for equal launches."""
    kernel, spec, facts = analysis.kernel, analysis.spec, analysis.facts

    def make() -> tuple[ir.Function, int] | None:
        from ..coarsen.merge_items import merge_items
        from ..coarsen.tree_reduction import find_tree_reduction

        tree = find_tree_reduction(kernel, spec, facts)
        return None if tree is None else (merge_items(kernel, tree), tree.copies)

    return _merged_kernels.get(kernel, spec, facts, make=make)


_kernels: KernelMemo[ir.Function] = KernelMemo()
_merged_kernels: KernelMemo[tuple[ir.Function, int] | None] = KernelMemo()
