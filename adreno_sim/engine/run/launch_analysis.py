"""The facts about launches that are alike: found out once for a kernel, a specialization and launch facts.

Proofs do not depend on where shadows lie. So they are made for the specialization without shadows, and decide which arguments
need race cells.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property, partial

from ...device.inspection import LaunchProofs
from ...ir import ir
from ...records import dataclass
from ..abi.accessed_bytes import AccessedBytes
from ..abi.launch_facts import LaunchFacts
from ..abi.proven_launch import ProvenLaunch
from ..abi.specialization import BufferArg, ImageArg, ShadowSpec, Specialization, with_shadow
from ..analysis.failures import attempt
from ..caching import compiled_cache
from ..caching.kernel_memo import KernelMemo
from ..shadow.argument_cells import cells_of_block, may_change
from .coarse_launch import CoarseLaunch
from .compiled_kernel import CompiledKernel

Shadows = tuple[tuple[int, ShadowSpec], ...]
"""The arguments that have a shadow, with what it records."""


@dataclass(eq=False)
class LaunchAnalysis:
    """All facts about launches of `kernel` for `spec`, which has neither shadows nor proofs, and `facts`.

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

    def separate_variant(self, shadows: Shadows) -> LaunchVariant:
        """Returns them as an object that no launch uses. Its code is that of the launches."""
        return LaunchVariant(self, self._spec_with(shadows))

    @cached_property
    def plain(self) -> LaunchVariant:
        """The launches whose arguments have no shadows."""
        return self.variant()

    @cached_property
    def accessed(self) -> dict[int, AccessedBytes]:
        """What a launch may access of each buffer argument; of those that are missing, anything."""
        from ..prove.accessed_bytes import find_accessed_bytes
        from ..prove.in_range import AccessAnalysis

        what = f"accessed bytes of kernel {self.kernel.name}"
        return attempt(what, lambda: find_accessed_bytes(AccessAnalysis(self.kernel, self.spec, self.facts)), {})

    @cached_property
    def explained(self) -> LaunchProofs:
        """What is proven of each access, and why the rest is not."""
        from ..prove.explain import explain_launch

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
    """Returns the analysis of a launch with `facts`; `spec` has neither shadows nor proofs. It is the same object for equal
    arguments. `keep`: look proofs up on disk first, and store them there.
    """
    return _analyses.get(kernel, spec, facts, make=lambda: _analyze(kernel, spec, facts, keep))


def _analyze(kernel: ir.Function, spec: Specialization, facts: LaunchFacts, keep: bool) -> LaunchAnalysis:
    load_or_prove = partial(compiled_cache.load_or_find, "proofs", ProvenLaunch, _prove) if keep else _prove
    proven = load_or_prove(kernel, spec, facts)
    views = [index for index, arg in enumerate(spec.args) if isinstance(arg, (BufferArg, ImageArg))] if spec.full else []
    cells = {index: cells_of_block(kernel, spec.args, [index]) for index in views}
    for index in proven.single_writer.intersection(views):
        cells[index] = ShadowSpec(0, cells[index].granularity, index in proven.written_whole)
    return LaunchAnalysis(kernel, spec, facts, proven, cells, frozenset(i for i in views if may_change(kernel, i)))


def _prove(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> ProvenLaunch:
    from ..prove.launch import prove_launch  # all analyses, which a launch whose proofs are on disk does not need

    return prove_launch(kernel, spec, facts)
