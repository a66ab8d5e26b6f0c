"""The table of planners by name. A planner maps a Problem to an Allocation and leaves the problem unchanged.

Rules of other systems are public too, although nobody would choose them for a model today: those of TVM's pools, of Relay and of
TFLite. `footprint` compares a plan with what these systems would take.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....base.errors import AdrenoSimError, UnsupportedError
from ....base.installed import extras
from ....records import dataclass

if TYPE_CHECKING:
    from ..allocation import Allocation
    from ..problem import Problem


@dataclass(frozen=True)
class Entry:
    """A planner: module and function it is, and one line about it.

    offsets: it puts tensors side by side in a storage. places: a planner that takes a model, since it chooses an order of
    execution (`order.planner`) or, with on_chip, puts tensors on the chip (`chip.planner`), names the planner for the others.
    """

    module: str
    function: str
    about: str
    offsets: bool = False
    places: str = ""
    on_chip: bool = False


PLANNERS = {
    "naive": Entry("naive", "naive", "a storage for every tensor"),
    "tvm": Entry("tvm", "tvm", "TVM's StaticPlanBlockMemory with its texture size defect"),
    "tvm-fixed": Entry("tvm", "tvm_fixed", "the same with right texture sizes"),
    "relay-1d2d": Entry("textures", "relay_1d2d", "Relay's graph planner: buffers by bytes, textures by extents"),
    "texture-pool": Entry("textures", "texture_pool", "TVM's legacy runtime pool of 2D textures"),
    "unified": Entry("unified", "unified", "one pool for buffers and textures of every dtype"),
    "tflite-size": Entry("tflite", "tflite_size", "TFLite's shared objects, greedy by size"),
    "tflite-breadth": Entry("tflite", "tflite_breadth", "TFLite's shared objects, greedy by breadth"),
    "tflite-objects": Entry("tflite", "tflite_objects", "the better of the two"),
    "tflite-arena": Entry("tflite", "tflite_arena", "TFLite's offsets, greedy by size", offsets=True),
    "tflite": Entry("tflite", "tflite", "TFLite's arena where it is smaller and fits, else its shared objects", offsets=True),
    "arena": Entry("arena", "arena", "offsets in an arena, constructed and then searched for", offsets=True),
    "arena-reordered": Entry(
        "arena", "arena", "arena, in the order of execution with the lowest peak", offsets=True, places="arena"
    ),
    "arena-onchip": Entry(
        "arena",
        "arena",
        "on-chip memory for what moves most bytes there, arena for the rest",
        offsets=True,
        places="arena",
        on_chip=True,
    ),
    "optimal": Entry("optimal", "optimal", "CP-SAT: the least arena with its proof, or the gap left", offsets=True),
}


def names() -> list[str]:
    """Every planner."""
    return list(PLANNERS)


def require(name: str) -> None:
    """Raise AdrenoSimError for a name that no planner has. Imports none."""
    if name not in PLANNERS:
        close = difflib.get_close_matches(name, PLANNERS, n=2)
        hint = f" (did you mean {' or '.join(close)}?)" if close else ""
        raise AdrenoSimError(f"planner {name!r} does not exist{hint}; there are: {', '.join(PLANNERS)}")


def require_installed(name: str) -> None:
    """Raise as `require`, and MissingPackageError for a planner whose solver is not installed: for one that a user names."""
    require(name)
    if name == "optimal":
        extras.require("ortools")


def places(name: str) -> str:
    """The planner that places tensors after `name` has read the model; "" for one that needs lifetimes alone."""
    return PLANNERS[name].places if name in PLANNERS else ""


def uses_chip(name: str) -> bool:
    """Whether a planner puts tensors into on-chip memory."""
    return name in PLANNERS and PLANNERS[name].on_chip


def find(name: str) -> Callable[..., Allocation]:
    """The planner called `name`, which leaves the order alone. Errors as `require`; UnsupportedError for one that does not."""
    import importlib

    require(name)
    if places(name):
        does = "puts on the chip what a recording holds" if uses_chip(name) else "chooses the order of a model's steps"
        raise UnsupportedError(f"planner {name}: {does}, and lifetimes alone do not show this; give the model itself")
    entry = PLANNERS[name]
    planner: Callable[..., Allocation] = getattr(importlib.import_module(f".{entry.module}", __name__), entry.function)
    return planner


def plan(name: str, problem: Problem, **options: Any) -> Allocation:
    """The allocation that planner `name` makes of `problem`; options are the planner's own (effort of arena, ...)."""
    return find(name)(problem, **options)
