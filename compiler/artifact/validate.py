"""Consistency of a CompiledModel: every name that the host program uses exists."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...base.specs import ELEMENT_TYPES
from ...frontend.file_options import require_no_access
from ...mlops.graph import parse
from ...mlops.steps import steps_of
from .host_function import AllocBuffer, AllocImage, Cast, Const, ScalarParam
from .interface import TensorInfo
from .plan_check import find_inconsistency, find_wrong_type
from .script import RUNTIME, ArrayValue, ResultOf, TupleArgument
from .vm_function import (
    AllocHeap,
    AllocStorage,
    AllocTensor,
    CallHost,
    CallVM,
    ConstRef,
    Defined,
    FunctionRef,
    Instruction,
    Reg,
    RunStep,
    VMFunction,
)
from .vm_registers import find_operands, find_registers, walk

if TYPE_CHECKING:
    from .model import CompiledModel, GraphCode
    from .script import Script, ScriptValue

_TYPED = (Cast, Const, AllocBuffer, AllocImage, AllocTensor, ScalarParam)
"""Whose type is never left open: a value is computed in it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def validate(model: CompiledModel) -> None:
    """Raise AdrenoSimError naming the first kernel, function or constant that is missing or does not fit its use."""
    params = {name: len(found) for name, found in model.entries.items()} or {"main": len(model.inputs)}
    for name, count in params.items():
        _expect(name in model.functions, f"no VM function {name!r}")
        _expect(len(model.functions[name].params) == count, f"{name!r} and its inputs differ in number")
    if model.script is not None:
        _check_script(model, model.script)
    if model.plan is not None and (wrong := find_inconsistency(model.plan)):
        _expect(False, f"memory plan: {wrong}")
    for key, kernel in model.kernels.items():
        _expect(kernel.name == key and _NAME.fullmatch(key) is not None, f"bad kernel name {kernel.name!r} under {key!r}")
    names = [(key, function.name) for key, function in model.host_functions.items()]
    for key, name in [*names, *((key, function.name) for key, function in model.functions.items())]:
        _expect(name == key, f"bad function name {name!r} under {key!r}")
    for function in model.host_functions.values():
        for launch in function.launches():
            _expect(launch.kernel in model.kernels, f"{function.name} launches unknown kernel {launch.kernel!r}")
            expected = len(model.kernels[launch.kernel].params)
            _expect(len(launch.args) == expected, f"{function.name}: {launch.kernel} takes {expected}, given {len(launch.args)}")
        for run in function.graphs():
            _expect(run.graph in model.graphs, f"{function.name} runs unknown graph {run.graph!r}")
    for key, code in model.graphs.items():
        _check_graph(model, key, code)
    for entry in (model.inputs, *model.entries.values()):
        for param in entry:
            _expect(not isinstance(param, TensorInfo) or param.dtype != "", f"{param.name}: unknown dtype ''")
    for part in (model.inputs, model.results, model.entries, model.kernels, model.host_functions, model.functions):
        _check_dtypes(part, "model")
    for vm_function in model.functions.values():
        for instruction in walk(vm_function.body):
            _check_instruction(model, vm_function.name, instruction)
        _check_registers(vm_function)


def require_no_files(model: CompiledModel) -> None:
    """Raise AdrenoSimError for a kernel of a bundle whose build reads files: a bundle holds all that it needs."""
    for name, kernel in model.kernels.items():
        try:
            require_no_access(kernel.source, kernel.options)
        except AdrenoSimError as error:
            raise AdrenoSimError(f"kernel {name}: {error}: a bundle holds all that its kernels need") from None


def _check_script(model: CompiledModel, script: Script) -> None:
    _expect(bool(model.entries), "a script, and no entries that it could call")
    for number, step in enumerate(script.steps):
        known = step.function in model.entries or step.function.startswith(RUNTIME)
        _expect(known, f"step {number} of the script calls unknown function {step.function!r}")
        for value in step.args:
            _check_script_value(model, number, value)
        for reference in step.references:
            for output in range(step.outputs):
                key = f"{number}/{reference}/{output}"
                _expect(key in model.recorded, f"step {number} of the script: array {key!r} is missing")


def _check_script_value(model: CompiledModel, number: int, value: ScriptValue) -> None:
    if isinstance(value, ArrayValue):
        _expect(value.key in model.recorded, f"step {number} of the script: array {value.key!r} is missing")
    elif isinstance(value, ResultOf):
        _expect(0 <= value.step < number, f"step {number} of the script takes the result of step {value.step}")
    elif isinstance(value, TupleArgument):
        for item in value.items:
            _check_script_value(model, number, item)


def _check_graph(model: CompiledModel, key: str, code: GraphCode) -> None:
    _expect(code.name == key and _NAME.fullmatch(key) is not None, f"bad graph name {code.name!r} under {key!r}")
    graph = parse(code.source)
    for name in graph.constants:
        _expect(code.constants.get(name) in model.constants, f"graph {key}: constant {name!r} is missing")


def _check_dtypes(value: Any, where: str) -> None:
    """Every field `dtype` in a tree of dataclasses names a numpy type ("" if the field may be left open)."""
    if isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_dtypes(item, where)
    elif is_dataclass(value):
        name = str(getattr(value, "name", where))
        if isinstance(value, TensorInfo) and value.dtype:
            wrong = find_wrong_type(value.shape, value.dtype)
            _expect(not wrong, f"{name}: {wrong}")
        dtype = getattr(value, "dtype", None)
        is_open = dtype == "" and not isinstance(value, _TYPED) and getattr(value, "kind", "") != "scalar"
        _expect(dtype is None or is_open or dtype in ELEMENT_TYPES, f"{name}: unknown dtype {dtype!r}")
        for field in fields(value):
            _check_dtypes(getattr(value, field.name), name)


def _check_instruction(model: CompiledModel, where: str, instruction: Instruction) -> None:
    if isinstance(instruction, CallHost):
        callee = model.host_functions.get(instruction.function)
        _expect(callee is not None, f"{where} calls unknown host function {instruction.function!r}")
        assert callee is not None
        _expect(len(callee.params) == len(instruction.args), f"{where}: {callee.name} takes {len(callee.params)} arguments")
    if isinstance(instruction, RunStep):
        ran = model.host_functions.get(instruction.function)
        _expect(
            ran is not None and len(ran.graphs()) == 1,
            f"{where} runs a step of {instruction.function!r}, which is not a subgraph",
        )
        assert ran is not None
        _check_step(model, where, instruction, ran.graphs()[0].graph, len(ran.params))
    if isinstance(instruction, CallVM):
        _expect(instruction.function in model.functions, f"{where} calls unknown function {instruction.function!r}")
    for operand in find_operands(instruction):
        if isinstance(operand, ConstRef):
            _expect(operand.key in model.constants, f"{where} uses unknown constant {operand.key!r}")
        if isinstance(operand, FunctionRef):
            _expect(operand.name in model.host_functions, f"{where} names unknown host function {operand.name!r}")


def _check_step(model: CompiledModel, where: str, instruction: RunStep, name: str, params: int) -> None:
    """The step exists, and has a tensor for each of its nodes."""
    steps = steps_of(parse(model.graphs[name].source)).all
    _expect(0 <= instruction.step < len(steps), f"{where}: {name} has no step {instruction.step}")
    step, at_end = steps[instruction.step], instruction.step in (0, len(steps) - 1)
    reads, writes = (len(step.arguments),) * 2 if step.operator is None else (len(step.reads), len(step.writes))
    given = (len(instruction.reads), len(instruction.writes), len(instruction.args))
    _expect(
        given == (reads, writes, params if at_end else 0), f"{where}: step {instruction.step} of {name} and its tensors differ"
    )


def _check_registers(function: VMFunction) -> None:
    """Every register that is used is bound somewhere; heaps and storages are, before, by what makes one."""
    known = {*function.params, *(name for instruction in walk(function.body) for name in find_registers(instruction, Defined))}
    made: dict[str, type] = {}
    for instruction in walk(function.body):
        for operand in find_operands(instruction):
            _expect(not isinstance(operand, Reg) or operand.name in known, f"{function.name}: unknown register in {operand}")
        for name, kind in (("heap", AllocHeap), ("storage", AllocStorage)):
            register = getattr(instruction, name, None)
            if isinstance(register, str):
                _expect(made.get(register) is kind, f"{function.name}: register {register!r} holds no {name}")
        made.update(dict.fromkeys(find_registers(instruction, Defined), type(instruction)))


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise AdrenoSimError(f"inconsistent model: {message}")
