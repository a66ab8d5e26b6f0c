"""The `adreno_kernel` fixture: run one OpenCL kernel on the test's device, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ..base import pytest_outcomes
from ..base.errors import AdrenoSimError, UnsupportedError
from ..base.pytest_settings import PytestSettings
from ..base.specs import BufferSpec, ImageSpec
from ..findings import Finding, Severity
from ..records import dataclass
from ..results import finding_text
from ..results.plain_text import kind_first
from . import kernel_folder, results

if TYPE_CHECKING:
    from ..base.specs import Storage, View
    from ..device.protocol import Device, Kernel, LaunchResult


@dataclass(frozen=True)
class Image:
    """An image argument: `array` of shape (layers, height, width, channels) is its contents before the launch."""

    array: np.ndarray
    kind: str = "image2d"
    order: str = "RGBA"
    channel_type: str = "FLOAT"

    def spec(self) -> ImageSpec:
        """The view to make. Raises AdrenoSimError for an array of another rank."""
        if self.array.ndim != 4:
            raise AdrenoSimError(f"image of shape {self.array.shape}: expected (layers, height, width, channels)")
        layers, height, width, _ = self.array.shape
        return ImageSpec(self.kind, width, height, layers, self.order, self.channel_type)


@dataclass(frozen=True)
class Vector:
    """An argument by value of a vector type: `values` of shape (2,), (3,), (4,), (8,) or (16,), of the type's elements."""

    values: np.ndarray

    def pad(self) -> np.ndarray:
        """As it is passed: three elements take the room of four."""
        return np.append(self.values, self.values.dtype.type(0)) if self.values.size == 3 else self.values


@dataclass
class KernelResult:
    """arrays: contents of every array and image argument after the launch, in order of the arguments."""

    arrays: list[np.ndarray]
    findings: list[Finding] = field(default_factory=list)
    device_seconds: float | None = None
    printed: str = ""


class AdrenoKernel:
    """Callable that builds a source, runs one kernel of it and returns the arrays afterwards."""

    Image = Image
    Vector = Vector

    def __init__(self, device: Device, text: str, settings: PytestSettings, node: pytest.Item):
        self._device = device
        self._text = text
        self._settings = settings
        self._node = node

    def __call__(
        self,
        source: str,
        args: Sequence[Any],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        *,
        kernel: str = "",
        options: str = "",
        expect: Sequence[str] = (),
    ) -> KernelResult:
        """Run `kernel` (the only one where not named) of OpenCL C `source` on `args`.

        args: NumPy arrays (buffers), Image, Vector, Local, Sampler, scalars of NumPy types. expect: kinds of findings that must
        appear ("out-of-bounds-read", ...), if the device checks accesses. Any other finding of severity error fails
        the test, as do sources that do not build; what the device cannot do skips it.
        """
        run = _Run(self._device, self._node)
        try:
            result = run(source, args, global_size, local_size, kernel, options)
        except UnsupportedError as error:
            pytest_outcomes.skip_unsupported(self._text, error)
        except AdrenoSimError as error:
            pytest_outcomes.fail(str(error))
        finally:
            run.close()
        if said := self._wrong(result, expect):
            launch = (source, args, global_size, local_size, kernel, options, self._text)
            pytest_outcomes.fail(self._attach(said, launch, result.findings))
        return result

    def _wrong(self, result: KernelResult, expect: Sequence[str]) -> str:
        """What is wrong with a launch, "" if nothing is."""
        wrong = [f for f in result.findings if f.severity is Severity.ERROR and f.kind.label not in expect]
        if wrong:
            return "\n".join(kind_first([line for finding in wrong for line in finding_text.lines(finding)]))
        seen = {finding.kind.label for finding in result.findings}
        absent = [label for label in expect if label not in seen] if self._device.info.checks_accesses else []
        return f"expected findings that did not appear: {', '.join(absent)}" if absent else ""

    def _attach(self, said: str, launch: tuple[Any, ...], findings: Sequence[Finding]) -> str:
        if self._settings.output is None:
            return said
        folder = kernel_folder.attach(
            self._settings.output, self._node.nodeid, self._text, kernel_folder.describe_launch(*launch), findings, said
        )
        return results.failure_text(folder, said)


class _Run:
    """Memory of one launch."""

    def __init__(self, device: Device, node: pytest.Item):
        self._device = device
        self._node = node
        self._views: list[tuple[View, tuple[int, ...]]] = []
        self._storages: list[Storage] = []

    def __call__(
        self,
        source: str,
        args: Sequence[Any],
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        name: str,
        options: str,
    ) -> KernelResult:
        kernel = self._kernel(source, name, options)
        bound = [self._bound(arg) for arg in args]
        launched: LaunchResult = self._device.launch(kernel, tuple(global_size), local_size and tuple(local_size), bound)
        self._device.finish()
        arrays = [self._device.read(view).reshape(shape) for view, shape in self._views]
        return KernelResult(arrays, launched.findings, launched.device_seconds, launched.printed)

    def _kernel(self, source: str, name: str, options: str) -> Kernel:
        program = self._device.build(source, options)
        names = program.kernel_names()
        if not name and len(names) != 1:
            raise AdrenoSimError(f"the source has {len(names)} kernels ({', '.join(names)}): say kernel=...")
        if name and name not in names:
            raise AdrenoSimError(f"the source has no kernel {name!r}; there are: {', '.join(names)}")
        return program[name or names[0]]

    def _bound(self, arg: Any) -> Any:
        if isinstance(arg, (np.ndarray, Image)):
            return self._make_view(arg)
        return arg.pad() if isinstance(arg, Vector) else arg

    def _make_view(self, arg: np.ndarray | Image) -> View:
        array = np.ascontiguousarray(arg.array if isinstance(arg, Image) else arg)
        spec = arg.spec() if isinstance(arg, Image) else BufferSpec(array.nbytes, array.dtype.name)
        storage = self._device.allocate(max(1, self._device.view_nbytes(spec)))
        self._storages.append(storage)
        view = self._device.view(storage, spec)
        self._views.append((view, array.shape))
        self._device.write(view, array if isinstance(arg, Image) else array.reshape(-1))
        return view

    def close(self) -> None:
        """Release views and storages."""
        for view, _ in self._views:
            view.release()
        for storage in self._storages:
            self._device.free(storage)
