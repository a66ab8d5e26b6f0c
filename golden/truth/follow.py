"""Runs a planned model without rounding, call by call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .compiled import CompiledTruths, Function
from .given import as_device_takes
from .model_plan import Plan, TruthStep, flatten
from .operators.operator import Operator, gives_places
from .operators.run import run_operator
from .run import Given, Truth, run_program
from .truth_program import TruthProgram
from .units import Units


def follow(plan: Plan, inputs: Sequence[np.ndarray], units: Units, places: Sequence[np.ndarray]) -> list[Truth]:
    """The outputs of a planned function, call by call; a tensor is let go after its last use."""
    left = iter(places)
    programs = [program for program in plan.programs if isinstance(program, TruthProgram)]
    compiled = CompiledTruths(programs) if programs else None  # machine code lives as long as this
    tensors = {number: as_device_takes(np.asarray(array), units) for number, array in enumerate(inputs)}
    outputs = flatten(plan.result)
    kept = set(outputs)
    for index, step in enumerate(plan.steps):
        for number in step.args:
            if number not in tensors:
                tensors[number] = as_device_takes(plan.constants[number], units)
        program, given = plan.programs[step.program], [tensors[number] for number in step.args]
        if isinstance(program, Operator):
            kinds = [np.dtype(plan.dtypes[number]) for number in step.args] + [np.dtype(dtype) for _, dtype in step.results]
            found = run_operator(program, given, kinds, units, next(left, None) if gives_places(program) else None)
        else:
            assert compiled is not None
            found = _run(step, program, compiled.functions[program.name], given, units)
        tensors.update(enumerate(found, step.first))
        for number in step.args:
            if plan.last_use[number] == index and number not in kept:
                tensors.pop(number, None)
    return [tensors[number] if number in tensors else Truth(plan.constants[number]) for number in outputs]


def _run(step: TruthStep, program: TruthProgram, function: Function, given: Sequence[Truth], units: Units) -> list[Truth]:
    """The results of one step."""
    made = [Truth(np.zeros(shape, dtype)) for shape, dtype in step.results]
    args: list[Given] = list(given)
    for position, value in step.scalars:
        args.insert(position, value)
    first = len(args)
    found = run_program(program, function, [*args, *made, *step.sizes], units)[first : first + len(made)]
    return [empty if result is None else result for empty, result in zip(made, found, strict=True)]
