"""What is known of launches that are alike: found out once for a kernel, a specialization and launch facts.

Proofs do not depend on where shadows lie. So they are made for the specialization without shadows, and decide which arguments
need race cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from ...base.gc_pause import gc_paused
from ...device.inspection import LaunchProofs
from ...device.protocol import AccessCounts
from ...ir import ir
from ...ir.memory_ops import touches_memory
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import BufferArg, ImageArg, Proofs, ShadowSpec, Specialization, with_shadow
from ..analysis.failures import attempt, collect
from ..caching import compiled_cache
from ..caching.kernel_memo import KernelMemo
from ..prove.accessed_bytes import AccessedBytes, find_accessed_bytes
from ..prove.explain import explain_launch
from ..prove.in_range import AccessAnalysis, prove_in_range
from ..prove.known_factors import find_known_factors
from ..prove.local_races import race_free_local_arrays
from ..prove.short_launch import ends_soon
from ..prove.single_writer import single_writer_args
from ..prove.whole_writes import wholly_written_args
from ..shadow.argument_cells import cells_of_block, may_change
from .coarse_launch import CoarseLaunch
from .compiled_kernel import CompiledKernel

T = TypeVar("T")

Shadows = tuple[tuple[int, ShadowSpec], ...]
"""The arguments that have a shadow, with what it records."""


@dataclass(frozen=True)
class ProvenLaunch:
    """What the proofs say of a launch, as it is kept on disk.

    accesses: how many instructions access memory, and how many of them are proven in range. single_writer (level full): the
    arguments in which no two work-items race and no store is dead, if no other argument shares their memory. written_whole: those
    of them that the launch does not read and writes whole. failures: why something is not proven, for each analysis that failed.
    """

    accesses: AccessCounts
    proofs: Proofs
    single_writer: frozenset[int]
    written_whole: frozenset[int]
    failures: tuple[str, ...]


@dataclass(eq=False)
class LaunchAnalysis:
    """All that is known of launches of `kernel` for `spec`, which has neither shadows nor proofs, and `facts`.

    cells (level full): what must be recorded of each buffer and image besides definedness, if no other argument shares its
    memory. changed: the buffers and images that a launch may write.
    """

    kernel: ir.Function
    spec: Specialization
    facts: LaunchFacts
    proven: ProvenLaunch
    cells: dict[int, ShadowSpec]
    changed: frozenset[int]
    _variants: dict[Shadows, LaunchVariant] = field(default_factory=dict)

    def variant(self, shadows: Shadows = ()) -> LaunchVariant:
        """Returns the launches whose arguments have these shadows."""
        known = self._variants.get(shadows)
        return known or self._variants.setdefault(shadows, LaunchVariant(self, self._spec_with(shadows)))

    @cached_property
    def plain(self) -> LaunchVariant:
        """The launches whose arguments have no shadows."""
        return self.variant()

    @cached_property
    def accessed(self) -> dict[int, AccessedBytes]:
        """What a launch may access of each buffer argument; of those that are missing, anything."""
        what = f"accessed bytes of kernel {self.kernel.name}"
        return attempt(what, lambda: find_accessed_bytes(AccessAnalysis(self.kernel, self.spec, self.facts)), {})

    @cached_property
    def explained(self) -> LaunchProofs:
        """What is proven of each access, and why the rest is not."""
        return explain_launch(self.kernel, self.spec, self.facts)

    def _spec_with(self, shadows: Shadows) -> Specialization:
        args = list(self.spec.args)
        for index, shadow in shadows:
            args[index] = with_shadow(args[index], shadow)
        return replace(self.spec, args=tuple(args), proofs=self.proven.proofs)


@dataclass(eq=False)
class LaunchVariant:
    """Launches whose arguments have the same shadows. spec: with these shadows and all proofs.

    fast: code with deferred checks (at level off: all code there is), once it is compiled. failed: a launch had to run again,
    or there is no such code; the reporting code then runs at once. failures: of analyses that code generation asked for. judged:
    a launch has run twice (`second_run`), of as many `launches`.
    """

    analysis: LaunchAnalysis
    spec: Specialization
    fast: CompiledKernel | None = None
    failed: bool = False
    failures: tuple[str, ...] = ()
    coarse: CoarseLaunch | None = None
    coarse_failed: bool = False
    judged: bool = False
    launches: int = 0


_analyses: KernelMemo[LaunchAnalysis] = KernelMemo()


def analyze_launch(kernel: ir.Function, spec: Specialization, facts: LaunchFacts, *, keep: bool = False) -> LaunchAnalysis:
    """Returns what is known of a launch of `facts`; `spec` has neither shadows nor proofs. It is the same object for equal
    arguments. `keep`: look proofs up on disk first, and store them there.
    """
    return _analyses.get(kernel, spec, facts, make=lambda: _analyze(kernel, spec, facts, keep))


def _analyze(kernel: ir.Function, spec: Specialization, facts: LaunchFacts, keep: bool) -> LaunchAnalysis:
    load_or_prove = partial(compiled_cache.load_or_find, "proofs", ProvenLaunch, prove_launch) if keep else prove_launch
    proven = load_or_prove(kernel, spec, facts)
    views = [index for index, arg in enumerate(spec.args) if isinstance(arg, (BufferArg, ImageArg))] if spec.full else []
    cells = {index: cells_of_block(kernel, spec.args, [index]) for index in views}
    for index in proven.single_writer.intersection(views):
        cells[index] = ShadowSpec(0, cells[index].granularity, index in proven.written_whole)
    return LaunchAnalysis(kernel, spec, facts, proven, cells, frozenset(i for i in views if may_change(kernel, i)))


@gc_paused()
def prove_launch(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> ProvenLaunch:
    """Proves what the level of checks can use. An analysis that fails proves nothing, and takes no other proof with it."""
    usable: list[AccessAnalysis] = []

    def find(what: str, find_in: Callable[[AccessAnalysis], T], nothing: T) -> T:
        def use() -> T:
            analysis = usable.pop() if usable else AccessAnalysis(kernel, spec, facts)
            found = find_in(analysis)
            usable.append(analysis)  # which one that failed is not: it may be half made
            return found

        return attempt(f"{what} kernel {kernel.name}", use, nothing)

    access_sites = {n for n, i in enumerate(i for block in kernel.blocks for i in block.instrs) if touches_memory(i)}
    single_writer: frozenset[int] = frozenset()
    written_whole: frozenset[int] = frozenset()
    with collect() as failures:
        proofs = find("proofs about", prove_in_range, Proofs())
        if spec.emitter == "spmd":
            proofs = replace(proofs, factors=find("known factors in", find_known_factors, proofs.factors))
        if spec.full:
            single_writer = find("single writers of", single_writer_args, single_writer)
            race_free = find("races in local memory of", race_free_local_arrays, proofs.race_free_locals)
            proofs = replace(proofs, race_free_locals=race_free)
        proofs = replace(proofs, ends_soon=find("lengths of loops in", ends_soon, False))
        if single_writer:
            whole = partial(wholly_written_args, single_writer=single_writer, ends=proofs.ends_soon)
            written_whole = find("wholly written arguments of", whole, written_whole)
    accesses = AccessCounts(len(access_sites), len(access_sites & proofs.in_range))
    return ProvenLaunch(accesses, proofs, single_writer, written_whole, tuple(failures))
