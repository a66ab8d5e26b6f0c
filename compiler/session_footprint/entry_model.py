"""One entry of a session's model as a separate model, which every planner takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...base.errors import AdrenoSimError
from ..artifact.interface import EntryParam, PackedInfo, ShapeInfo, TensorInfo, TupleInfo
from ..artifact.model import ENTRY, CompiledModel
from ..artifact.vm_function import Copy, Instruction, MakeTuple, Reg, ShapeLiteral, VMFunction


def entry_model(model: CompiledModel, entry: str, shapes: Mapping[str, Sequence[int]] | None = None) -> CompiledModel:
    """`model` with the function `entry` as its main: tensors are its inputs, those of a tuple one by one; state is not bound.

    shapes: the numbers of each parameter that is a shape. AdrenoSimError for one that has none.
    """
    function, params = model.functions[entry], model.entries[entry]
    registers: list[str] = []
    before: list[Instruction] = []
    for register, param in zip(function.params, params, strict=True):
        if isinstance(param, TensorInfo):
            registers.append(register)
        elif isinstance(param, ShapeInfo):
            if param.name not in (shapes or {}):
                raise AdrenoSimError(f"{entry} takes the shape {param.name!r}: its plan needs to know the numbers in it")
            before.append(Copy(register, ShapeLiteral(tuple((shapes or {})[param.name])), ""))
        elif isinstance(param, PackedInfo):
            names = [f"{register}.{number}" for number in range(len(param.items))]
            for item in param.items:
                if not isinstance(item, TensorInfo):
                    raise AdrenoSimError(f"{entry} takes {item.name!r} inside a tuple: a plan is made of tensors in it alone")
            registers += names
            before.append(MakeTuple(register, tuple(map(Reg, names))))
    main = VMFunction(ENTRY, tuple(registers), (*before, *function.body))
    functions = {name: other for name, other in model.functions.items() if name != entry} | {ENTRY: main}
    inputs = tuple(tensors_of(params))
    return replace(model, functions=functions, inputs=inputs, results=TupleInfo(()), entries={}, plan=None, script=None)


def tensors_of(params: Sequence[EntryParam]) -> Iterator[TensorInfo]:
    """The tensors among parameters, those in tuples one by one."""
    for param in params:
        if isinstance(param, TensorInfo):
            yield param
        elif isinstance(param, PackedInfo):
            yield from tensors_of(param.items)
