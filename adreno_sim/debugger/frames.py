"""Where a work-item is, and what names mean there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..backends.sim.debugging import DebugLaunch
from ..base.specs import ImageSpec, Local
from ..engine.abi import debugging as abi
from ..engine.abi.debug_table import Point, Slot
from ..frontend.debug_info import Type, Variable
from ..ir import ir
from ..ir.constant_data import data_bytes
from ..ir.queries import globals_of
from ..memory.storage import StorageView
from ..records import dataclass
from .items import Grid
from .memory import LaunchMemory
from .values import INT, DebugError, NoValueError, Value, element_at, make_value, type_of_dtype


@dataclass(frozen=True)
class Frame:
    """A function that a work-item is in. callers: lines of the calls that led there, innermost first; line: where it is; scope:
    of clang's, -1 where it is not known, as of an outer frame."""

    function: str
    file: str
    line: int
    callers: tuple[int, ...]
    scope: int


def frames_of(launch: DebugLaunch, point: Point) -> list[Frame]:
    """Returns the functions that are entered at a point, innermost first."""
    found = [
        Frame(launch.info.function_name(point.scope) or launch.kernel.name, point.file, point.line, point.callers, point.scope)
    ]
    for depth, line in enumerate(point.callers):
        callers = point.callers[depth + 1 :]
        slots = (slot for slot in launch.run.table.slots if slot.callers == callers)
        variable = next((v for slot in slots if (v := launch.info.variable(slot.variable)) is not None), None)
        name = launch.info.function_name(variable.scope) if variable is not None else ""
        found.append(Frame(name or (launch.kernel.name if not callers else "a function"), point.file, line, callers, -1))
    return found


class ItemScope:
    """What names mean to one work-item of the group that runs, in one of its frames. lane None: of no work-item, as after the
    launch."""

    def __init__(self, launch: DebugLaunch, memory: LaunchMemory, grid: Grid, lane: int | None, frame: Frame | None):
        self.launch, self.memory, self.grid, self.lane, self.frame = launch, memory, grid, lane, frame

    # Variables of the source

    def variables(self) -> list[tuple[Variable, Slot]]:
        """Returns the variables that the frame sees, those of inner scopes first."""
        if self.frame is None:
            return []
        scopes = self.launch.info.outer_scopes(self.frame.scope)
        found: list[tuple[int, Variable, Slot]] = []
        for slot in self.launch.run.table.slots:
            variable = self.launch.info.variable(slot.variable)
            if slot.callers != self.frame.callers or variable is None:
                continue
            if self.frame.scope < 0:  # an outer frame: a variable that is declared behind the call is not there yet
                if variable.line <= self.frame.line:
                    found.append((-variable.line, variable, slot))
            elif variable.scope in scopes:
                found.append((scopes.index(variable.scope), variable, slot))
        found.sort(key=lambda one: (one[0], -one[1].line))
        return [(variable, slot) for _, variable, slot in found]

    def state(self, slot: Slot) -> int:
        """Returns the state of a variable's value, as `abi.HAS_VALUE`."""
        assert self.lane is not None
        return abi.HAS_VALUE if slot.flag < 0 else self.launch.run.read(slot.flag + self.lane, 1)[0]

    def value_of(self, variable: Variable, slot: Slot) -> Value:
        """Returns a variable's value. DebugError if it has none yet."""
        assert self.lane is not None
        if self.state(slot) != abi.HAS_VALUE:
            raise NoValueError(f"{variable.name} has no value yet")
        offset = slot.offset + self.lane * slot.stride
        data = self.launch.run.read(offset, slot.nbytes)
        address = int(self.launch.run.words[abi.DEBUG_ARENA]) + offset if slot.in_memory else None
        return Value(variable.type, data.ljust(variable.type.nbytes, b"\0"), address)

    # The names of an expression

    def name(self, name: str) -> Value:
        """Returns the value of a name."""
        seen = [(v, s) for v, s in self.variables() if v.name == name] if self.lane is not None else []
        declared = [(v, s) for v, s in seen if self.state(s) != abi.NOT_DECLARED]
        if declared:
            return self.value_of(*declared[0])
        found = self._shared(name) or self._argument(name)
        if found is not None:
            return found
        if seen:
            raise NoValueError(f"{name} has no value yet")
        raise DebugError(f"nothing is called {name} here: there are {', '.join(self.known_names()) or 'no names'}")

    def known_names(self) -> list[str]:
        """Returns the names that mean something here."""
        names = [variable.name for variable, _ in self.variables()] if self.lane is not None else []
        names += [param.name for param in self.launch.function.params]
        names += [variable.name.rpartition(".")[2] for variable in globals_of(self.launch.function)]
        return [name for name in dict.fromkeys(names) if name]

    def _shared(self, name: str) -> Value | None:
        """Returns local memory or program-scope data of a name."""
        kernel = self.launch.kernel.name
        for variable in globals_of(self.launch.function):
            if variable.name not in (name, f"{kernel}.{name}"):
                continue
            type = next((known.type for known in self.launch.info.globals if known.name == name), None) or _type_of(variable.type)
            if variable.space == ir.LOCAL:
                offset, nbytes = self.launch.run.table.locals[variable.name]
                return self._local(offset, nbytes, type)
            if isinstance(variable.initializer, ir.Const):
                return Value(type, data_bytes(variable.initializer, variable.type))
        return None

    def _local(self, offset: int, nbytes: int, type: Type) -> Value:
        if self.launch.run.ended or not self.launch.run.words[abi.DEBUG_MEMORY]:
            raise DebugError("local memory: no group runs at this moment")
        return Value(type, self.launch.run.read(offset, nbytes, local=True), offset, local=True)

    def _argument(self, name: str) -> Value | None:
        index = self.memory.find_argument(name)
        if index is None:
            return None
        arg, param = self.launch.args[index], self.launch.function.params[index]
        type = self._declared_type(name)
        if isinstance(arg, StorageView):
            if isinstance(arg.spec, ImageSpec):
                raise DebugError(f"{name} is an image: {name}(x, y) is one of its texels")
            element = type.element if type is not None and type.element is not None else type_of_dtype(arg.spec.dtype)
            return Value(Type("pointer", f"{element.name} *", 8, element), arg.address.to_bytes(8, "little"))
        if isinstance(arg, Local):
            offset, nbytes = self.launch.run.table.locals[index]
            element = type.element if type is not None and type.element is not None else INT
            count = nbytes // max(1, element.nbytes)
            return self._local(offset, nbytes, Type("array", f"{element.name}[{count}]", nbytes, element, count))
        if isinstance(arg, bytes):
            return Value(type or _type_of(param.type), arg)
        raise DebugError(f"{name} is a {param.spelled or param.type}, which has no value to show")

    def _declared_type(self, name: str) -> Type | None:
        slots = (slot for slot in self.launch.run.table.slots if not slot.callers)
        found = (v for slot in slots if (v := self.launch.info.variable(slot.variable)) is not None and v.is_parameter)
        return next((variable.type for variable in found if variable.name == name), None)

    def at(self, value: Value, index: int) -> Value:
        """Returns the element of an array, or what a pointer points to."""
        if value.type.kind == "array":
            return element_at(value, index)
        if value.type.kind == "vector":
            raise DebugError(f"{value.type.name}: expected a component, as .x or .s{index:x}")
        if value.type.kind != "pointer" or value.type.element is None or not value.type.element.nbytes:
            raise DebugError(f"a {value.type.name} has no elements")
        address = int(value.number) + index * value.type.element.nbytes
        return Value(value.type.element, self.memory.read(address, value.type.element.nbytes), address)

    def call(self, name: str, arguments: Sequence[int]) -> Value:
        """Returns an id or a size, or a texel of an image."""
        index = self.memory.find_argument(name)
        view = self.launch.args[index] if index is not None else None
        if isinstance(view, StorageView) and isinstance(view.spec, ImageSpec):
            return _texel(name, view, arguments)
        if len(arguments) > 1 or (arguments and not 0 <= arguments[0] < 3):
            raise DebugError(f"{name}({', '.join(map(str, arguments))}): expected one dimension, 0 to 2")
        if self.lane is None and name in ("get_global_id", "get_local_id", "get_group_id"):
            raise DebugError(f"{name}: no work-item runs at this moment")
        found = self.grid.query(name, self.launch.run.group, self.lane or 0, arguments[0] if arguments else 0)
        if found is None:
            raise DebugError(f"{name}: expected get_global_id, get_local_id, get_group_id, a size of theirs, or an image")
        return make_value(found)


def _type_of(type: ir.Type) -> Type:
    """Returns a type of kernel IR as one of the source, as far as it tells."""
    if isinstance(type, ir.Array):
        element = _type_of(type.elem)
        return Type("array", f"{element.name}[{type.count}]", element.nbytes * type.count, element, type.count)
    if isinstance(type, ir.Vector):
        element = _type_of(type.elem)
        return Type(
            "vector", f"{element.name}{type.count}", element.nbytes * (4 if type.count == 3 else type.count), element, type.count
        )
    if isinstance(type, ir.Float):
        return Type("float", str(type), type.bits // 8)
    if isinstance(type, ir.Int):
        return Type("int", str(type), max(1, type.bits // 8))
    return Type("opaque", str(type), 0)


def _texel(name: str, view: StorageView, arguments: Sequence[int]) -> Value:
    """Returns the channels of a texel, as they are stored."""
    texels = view.array()
    layers, height, width, channels = texels.shape
    x, y, z = (*arguments, 0, 0, 0)[:3]
    if not arguments or len(arguments) > 3 or not (0 <= x < width and 0 <= y < height and 0 <= z < layers):
        place = ", ".join(map(str, arguments))
        raise DebugError(f"{name}({place}): {name} has {width} x {height} x {layers} texels")
    texel = np.ascontiguousarray(texels[z, y, x])
    address = texels[z, y, x].ctypes.data
    return Value(type_of_dtype(texels.dtype.str, channels), texel.tobytes(), address)
