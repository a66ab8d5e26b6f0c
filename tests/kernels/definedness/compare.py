"""Compares what the simulated device says of a random kernel with what the interpreter knows.

python -m tests.kernels.definedness.compare --count 5000 --jobs 16 --seconds 900     # from the top of the repository
python -m tests.kernels.definedness.compare --first 1234 --count 1                   # one kernel again, with its text
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.findings import Kind

sys.path.insert(0, str(Path(__file__).parents[2]))

from seeds import add_options, run_campaign

from . import interpreter
from .programs import GROUP, ITEMS, OUTPUTS, Maker, Program

UNDEFINED = 0xAB


def find_difference(seed: int, emitter: str = "spmd") -> str:
    """Runs the kernel of a seed. Returns what is wrong, "" if nothing is."""
    program = Maker(seed).program()
    given = [seed * 31 + 977 * place & 0xFFFF for place in range(ITEMS)]
    told, marks, values = _launch(program, given, emitter)
    try:
        left = interpreter.run(program, given)
    except interpreter.Reached as reached:
        return "" if any(str(reached) in message for message in told) else f"not found: {reached}; found {told}"
    except interpreter.Ambiguous:
        return ""
    wanted = [value for item in left for value in item]
    undefined = any(value is not None and value[1] for value in wanted)
    if undefined != bool(told) or any("it is stored in out" not in message for message in told):
        return f"expected {'findings' if undefined else 'none'}, found {told}"
    for place, value in enumerate(wanted):
        got = _undefined_bits(marks[4 * place : 4 * place + 4])
        if value is None:
            if any(marks[4 * place : 4 * place + 4]):
                return f"output {place} is marked as written, and is not"
        elif got != _as_marked(value[1]):
            return f"output {place}: bits {got:08x} are undefined, expected {value[1]:08x}"
        elif (int(values[place]) ^ value[0]) & ~value[1]:
            return f"output {place}: {int(values[place])}, expected {value[0]} but for the bits {value[1]:08x}"
    return ""


def _undefined_bits(marks: np.ndarray) -> int:
    return int.from_bytes(bytes(255 if mark == UNDEFINED else (int(mark) - 1) & 255 for mark in marks), "little")


def _as_marked(bits: int) -> int:
    """The bits as a mark of each byte tells them: 0xAA stands for all."""
    return int.from_bytes(bytes(255 if byte == UNDEFINED - 1 else byte for byte in bits.to_bytes(4, "little")), "little")


def _launch(program: Program, given: list[int], emitter: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The messages of undefined values, and the marks and values of the output."""
    device = adreno_sim.open_device("sim:reference", checks="full", cache=False, emitter=emitter)
    views = []
    for count in (ITEMS, ITEMS * OUTPUTS):
        views.append(device.view(device.allocate(4 * count), BufferSpec(4 * count, "uint32")))
    device.write(views[0], np.array(given, np.uint32))
    views[0].block.valid[4 * program.written :] = 0
    views[0].block.forget()
    found = device.launch(device.build(program.text())["k"], (ITEMS,), (GROUP,), views).findings
    others = [finding for finding in found if finding.kind is not Kind.UNINITIALIZED_READ and finding.severity > 0]
    assert not others, others
    valid = views[1].block.valid
    assert valid is not None
    return [finding.message for finding in found], valid[: 4 * ITEMS * OUTPUTS].copy(), device.read(views[1])


def find_with_text(seed: int) -> str:
    """What is wrong with the kernel of a seed, by vectors or by one work-item after the other, and its text."""
    for emitter in ("spmd", "scalar"):
        if what := find_difference(seed, emitter):
            return f"{emitter}: {what}\n{Maker(seed).program().text()}"
    return ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, count=5000)
    from tests.kernels.definedness.compare import find_with_text  # as other processes import it

    sys.exit(run_campaign(find_with_text, parser.parse_args(), "kernels"))
