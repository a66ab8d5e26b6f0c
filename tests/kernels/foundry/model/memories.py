"""The model's memory: the bytes of each object, which of their bits are undefined, and every access with its bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..launches import Launch, Memory
from ..layout import Array, Image
from ..program import Program


@dataclass(eq=False)
class Room:
    """Bytes, by instance (a work-item, a group, or the launch). undefined: their bits that nobody has written, or that were
    undefined when they were."""

    contents: np.ndarray
    undefined: np.ndarray

    @staticmethod
    def make(instances: int, nbytes: int) -> Room:
        return Room(np.zeros((instances, nbytes), np.uint8), np.full((instances, nbytes), 255, np.uint8))


@dataclass(frozen=True, eq=False)
class Bound:
    """An object of a launch: bytes `base` to `base + nbytes` of a room. instance: of each work-item."""

    name: str
    space: str
    room: Room
    base: int
    nbytes: int
    instance: np.ndarray


@dataclass(frozen=True, eq=False)
class Event:
    """Accesses by one statement: of each, the work-item, the instance and the first byte in the room.

    interval: fences for this memory that the launch had passed. values: what was stored; None of a read. before: what lay there.
    """

    bound: Bound
    line: int
    writes: bool
    items: np.ndarray
    instances: np.ndarray
    starts: np.ndarray
    nbytes: int
    interval: int
    values: np.ndarray | None
    before: np.ndarray


@dataclass(frozen=True)
class Violation:
    """What is wrong with one access of one work-item. offset: in bytes from the start of the object; coordinate: of an image.
    others: offsets and coordinates that may be named as well."""

    kind: str
    line: int
    view: str
    space: str
    item: int
    offset: int | None = None
    coordinate: tuple[int, ...] | None = None
    others: tuple[tuple[int | None, tuple[int, ...] | None], ...] = ()

    @property
    def places(self) -> set[tuple[str, int | None, tuple[int, ...] | None]]:
        return {(self.view, self.offset, self.coordinate), *((self.view, *other) for other in self.others)}


@dataclass
class Memories:
    """Every object of a launch, by name, and all that happened to them."""

    launch: Launch
    bounds: dict[str, Bound] = field(default_factory=dict)
    rooms: dict[int, Room] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    @staticmethod
    def of(program: Program, launch: Launch) -> Memories:
        """With the arguments and the program's tables; variables come as they are declared."""
        made = Memories(launch)
        sizes: dict[int, int] = {}
        for value in launch.values.values():
            if isinstance(value, Memory):
                sizes[value.storage] = max(sizes.get(value.storage, 0), value.offset + value.nbytes)
        made.rooms = {storage: Room.make(1, nbytes) for storage, nbytes in sizes.items()}
        for parameter in program.parameters:
            value = launch.values[parameter.name]
            if isinstance(value, Memory):
                assert isinstance(parameter, (Array, Image))
                made._bind_memory(parameter.name, parameter.space, value)
            elif isinstance(parameter, Array):
                made.declare(parameter, value)
        for value in launch.values.values():  # after all: they may share bytes
            for first, last in value.unset if isinstance(value, Memory) else ():
                made.rooms[value.storage].undefined[0, value.offset + first : value.offset + last] = 255
        for array, values in program.tables:
            made.declare(array)
            made.initialise(array, values, np.ones(launch.items, bool))
        return made

    def _bind_memory(self, name: str, space: str, memory: Memory) -> None:
        room, here = self.rooms[memory.storage], slice(memory.offset, memory.offset + memory.nbytes)
        room.contents[0, here] = memory.contents
        room.undefined[0, here] = 0
        self.bounds[name] = Bound(name, space, room, memory.offset, memory.nbytes, np.zeros(self.launch.items, np.int64))

    def declare(self, array: Array, nbytes: int | None = None) -> None:
        """Makes an object that nobody has written: of each work-item, each group, or the program."""
        linear = self.launch.linear
        instance = {"private": linear["i"], "local": linear["g"]}.get(array.space, np.zeros(self.launch.items, np.int64))
        nbytes = array.nbytes if nbytes is None else nbytes
        room = Room.make(int(instance.max()) + 1, nbytes)
        self.bounds[array.name] = Bound(array.name, array.space, room, 0, nbytes, instance)

    def initialise(self, array: Array, values: tuple[int, ...], mask: np.ndarray) -> None:
        """Writes an array's initialiser."""
        lanes = getattr(array.element, "lanes", 1)
        dtype = array.element.dtype  # type: ignore[union-attr]
        data = ((np.array(values)[:, None] + np.arange(lanes)) & 63 if lanes > 1 else np.array(values)[:, None]).astype(dtype)
        bound = self.bounds[array.name]
        bound.room.contents[bound.instance[mask]] = data.reshape(-1).view(np.uint8)
        bound.room.undefined[bound.instance[mask]] = 0
