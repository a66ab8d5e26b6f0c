"""What a kernel's launches are: its sizes and the extents of its arguments, found by running it with room for all it touches."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...backends.sim.program import SimKernel
from ...base.errors import AdrenoSimError
from ...device.protocol import Device
from ...findings import Finding, Kind
from ...ir.data_dependence import accesses_depend_on_memory
from ..model import BufferArgument, ImageArgument, LaunchSpec
from ..read import read_tables
from ..skeleton.guess import Skeleton, guess_launch
from ..skeleton.kernel_use import KernelUse
from ..skeleton.text import skeleton_text
from .assumed import AssumedExtents, find_partial_guards
from .choose import Chooser, Shape, list_calibrations, list_shapes
from .fit import Formula, fit
from .needs import Extent, measure_needs
from .spec import AXES, LaunchWriter
from .ties import find_ties

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECONDS = 5
"""What one launch may take."""
MOST_ROWS = 16
"""Elements of a local argument, for each work-item, up to which it is made larger."""


class InferredKernel:
    """A kernel with the launches that are inferred of it. device: at level bounds; names: where launch file and source lie.

    extents: formulas by the position of the argument; unknown: positions of arguments whose extent no formula says, which get as
    much as each launch touches; assumed: those that get more than their formula says, where a launch touches more; fitted: those
    of them that got more.
    """

    def __init__(self, device: Device, kernel: SimKernel, target: Path, source: str, options: str, root: Path | None):
        self.device, self.kernel, self.target, self.root = device, kernel, target, root
        self.use = KernelUse(kernel.function)
        self.ties = find_ties(kernel.function, self.use.axes)
        self.base = guess_launch(self.use, source, options)
        self.ends = True
        self.writer = self._choose_group()
        self.extents: dict[int, tuple[Formula, ...]] = {}
        self.unknown: set[int] = set()
        self.assumed: set[int] = set()
        self.fitted: set[int] = set()
        self._of_bounds = self._find_bounds()
        self.ties.unguarded |= find_partial_guards(
            self.chooser, list_calibrations(self.chooser)[0], self.use.written, self._measure
        )
        self._find_extents()

    @property
    def chooser(self) -> Chooser:
        return self.writer.chooser

    def list_shapes(self, least: int, most: int) -> list[Shape]:
        """The shapes to be tried, fewest work-items first."""
        return list_shapes(self.chooser, least, most)

    def write_first(self, wanted: Sequence[int], device: str) -> Skeleton | None:
        """A first launch next to these sizes, to be decided on; None if the extent of an argument is not known."""
        if self.unknown:
            return None
        made = self.writer.tight(self.chooser.choose(wanted), self.extents, decide=True)
        made.device = device
        return made

    def launch(self, shape: Shape) -> tuple[str, LaunchSpec]:
        """The launch file of a shape, and what it says. Raises AdrenoSimError for what cannot be a launch."""
        extents: dict[int, Sequence[Formula]] = dict(self.extents)
        widened = self.extents.keys() if shape.widened else self.assumed
        if self.unknown or widened:
            needs = self._measure(shape) or {}
            extents |= {index: [Formula(max(1, need)) for need in needs[index]] for index in self.unknown if index in needs}
            extents |= {index: self._widen(index, needs[index], shape) for index in widened if index in needs}
        return self._read(self.writer.tight(shape, extents))

    def _widen(self, index: int, needs: Extent, shape: Shape) -> list[Formula]:
        """The extents of an argument whose size is assumed, with what a launch touches more."""
        sizes, made = self.writer.sizes(shape), []
        for formula, need in zip(self.extents[index], needs, strict=True):
            beyond = need > formula.of(sizes)
            made.append(Formula(need) if beyond else formula)
            if beyond:
                self.fitted.add(index)
        return made

    def _read(self, made: Skeleton) -> tuple[str, LaunchSpec]:
        text = skeleton_text(made)
        spec = read_tables(tomllib.loads(text), self.target, root=self.root)
        return text, replace(spec, run={**spec.run, "timeout": SECONDS})

    # -- work-groups

    def _choose_group(self) -> LaunchWriter:
        """The group that the kernel's local arrays leave room for, of several shapes where the code does not say one; and local
        arguments as large as it needs."""
        first: LaunchWriter | None = None
        for group in self._groups():
            writer = LaunchWriter(self.base, Chooser(self.kernel.function, self.ties, self.use.axes, group))
            first = first or writer
            if not self._leaves_local(writer):
                return writer
        assert first is not None
        return first

    def _groups(self) -> list[tuple[int, ...] | None]:
        group = self.base.local_size
        if group is None or self.kernel.function.required_work_group_size is not None:
            return [group]
        if len(group) != 2:
            return [group, *((group[0] // by,) for by in (2, 4, 8, 16, 32) if len(group) == 1 and group[0] >= 4 * by)]
        items = math.prod(group)
        widths = [1 << power for power in range(items.bit_length())]
        shapes = [(width, items // width) for width in sorted(widths, key=lambda width: abs(math.log(width * width / items)))]
        return [group, *(shape for shape in shapes if shape != group)]

    def _leaves_local(self, writer: LaunchWriter) -> bool:
        """Whether a large part of a group leaves local arrays of the kernel. Local arguments that it leaves are made larger: what
        few work-items leave is a mistake of theirs."""
        shape = list_calibrations(writer.chooser)[0]
        while True:
            findings = self._try(writer, shape)
            arguments = {param.name for param in self.kernel.function.params}
            left = [finding for finding in findings if finding.access is not None and finding.access.view in arguments]
            many = sum(finding.count for finding in left) * 4 >= shape.items
            if many and self._has_local_argument(left) and writer.local_rows < MOST_ROWS:
                writer.local_rows *= 2
                continue
            own = [f for f in findings if f.access is not None and f.access.view.startswith(f"{self.kernel.name}.")]
            return sum(finding.count for finding in own) * 4 >= shape.items

    def _has_local_argument(self, findings: Sequence[Finding]) -> bool:
        local = {argument.keys.get("name") for argument in self.base.arguments if argument.keys["kind"] == "local"}
        return any(finding.access is not None and finding.access.view in local for finding in findings)

    def _try(self, writer: LaunchWriter, shape: Shape) -> list[Finding]:
        from ..bind import BoundArguments, RejectedCall

        try:
            _, spec = self._read(writer.roomy(shape))
            bound = BoundArguments(self.device, spec, self.kernel.params)
            bound.fill()
            findings = list(self.device.launch(self.kernel, spec.global_size, spec.local_size, bound.values).findings)
            self.ends &= all(finding.kind is not Kind.WATCHDOG for finding in findings)
            return findings
        except (AdrenoSimError, RejectedCall):
            return []

    # -- extents

    def _find_bounds(self) -> set[int]:
        """Arguments that may hold where parts of others begin, one more than there are parts: whole numbers that are read alone,
        of a kernel that accesses what numbers in memory say."""
        if not accesses_depend_on_memory(self.kernel.function):
            return set()
        keys = [argument.keys for argument in self.base.arguments]
        whole = {index for index, key in enumerate(keys) if "int" in str(key.get("dtype", ""))}
        return whole & (self.use.read - self.use.written)

    def _measure(self, shape: Shape) -> dict[int, Extent] | None:
        if not self.ends:
            return None
        try:
            _, spec = self._read(self.writer.roomy(shape))
        except AdrenoSimError:
            return None
        return measure_needs(self.device, self.kernel, spec)

    def _find_extents(self) -> None:
        shapes = list_calibrations(self.chooser)
        measured = [self._measure(shape) for shape in shapes]
        sizes = [self.writer.sizes(shape) for shape in shapes]
        varying = {name for name in sizes[0] if len({launch[name] for launch in sizes}) == len(sizes)}
        launches = [{name: launch[name] for name in varying} for launch in sizes]
        _, spec = self._read(self.writer.roomy(shapes[0]))
        judge = AssumedExtents(self.writer, self.use.written)
        for index, argument in enumerate(spec.arguments):
            if isinstance(argument, (BufferArgument, ImageArgument)):
                formulas = self._fit(index, measured, launches)
                if formulas is None:
                    self.unknown.add(index)
                    continue
                self.extents[index] = formulas
                needs = [launch[index] for launch in measured if launch is not None]
                if judge.is_assumed(index, formulas, needs, sizes):
                    self.assumed.add(index)

    def _fit(
        self, index: int, measured: Sequence[Mapping[int, Extent] | None], launches: Sequence[Mapping[str, int]]
    ) -> tuple[Formula, ...] | None:
        needs = [launch[index] for launch in measured if launch is not None and index in launch]
        if len(needs) != len(launches):
            return None
        found = []
        for side in range(len(needs[0])):
            formula = fit([need[side] for need in needs], launches, self.writer.axis_names, index in self._of_bounds)
            if formula is None:
                return None
            found.append(self._meant(formula, side))
        return tuple(found)

    def _meant(self, formula: Formula, side: int) -> Formula:
        """The extent without the work-items that a guard is for; the axis' size, of an image that is only asked for its own."""
        if not formula.factor:
            named = side < self.chooser.axes and side in self.ties.guarded_images
            return Formula(1, ((self.writer.name_of(side),),)) if named else Formula(1)
        totals = {f"total_{AXES[axis]}": self.writer.name_of(axis) for axis in range(self.chooser.axes)}
        sizes = tuple(tuple(totals.get(name, name) for name in term) for term in formula.sizes)
        return replace(formula, sizes=sizes)
