"""Compiles kernels to machine code: translation here, Mesa in a child process, results kept on disk.

Mesa's library asserts what it does not expect, which ends the process it is in: the child's, so that the caller gets a refusal.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base import disk_cache
from ..base.code_digest import code_digest
from ..base.errors import UnsupportedError
from ..base.installed.extras import is_installed, missing_package
from ..base.processes.helper import Helper, HelperEndedError, Limits, NoHelperError
from ..base.stored import values
from ..device.machine_code import KernelCode, MachineCode
from ..ir import ir
from .assembly import count_half_registers, count_instructions, place_lines
from .chips import Chip
from .mesa.layout import VERSION
from .mesa.worker import compile_request
from .translate.kernel import DEFAULT_GROUP, translate_kernel

_KIND = "machine"
_LIMITS = Limits(seconds=30, wall=90, memory=2 << 30)
_LANES = 64
_LOCK = threading.Lock()
_helper = Helper(compile_request, _LIMITS)


def compile_kernel(
    function: ir.Function, chips: Iterable[Chip], group: tuple[int, int, int] | None = None, *, free: bool = False
) -> tuple[KernelCode, ...]:
    """Returns a kernel's machine code for each chip.

    group: work-items of a group, where the kernel requires none; private memory and spills can depend on it. free: with as many
    registers as it takes, whatever group it requires. Raises MissingPackageError without tinymesa; UnsupportedError, by name, for
    what these GPUs do not have, and where Mesa crashes or meets a limit.
    """
    library = find_library()
    size = DEFAULT_GROUP if free else function.required_work_group_size or group or DEFAULT_GROUP
    translated = translate_kernel(function, size)
    found = []
    for chip in chips:
        unrolled, rolled = (_compile(library, function.name, chip, translated.program, unroll) for unroll in (True, False))
        names = translated.stand_ins, translated.omitted
        found.append(KernelCode(function.name, chip.name, size, unrolled, rolled, *names, chip.code_of))
    return tuple(found)


def find_library() -> Path:
    """Returns the path of Mesa's library. MissingPackageError if it is not installed, UnsupportedError for another version."""
    if not is_installed("tinymesa"):
        raise missing_package("tinymesa")
    installed = metadata.version("tinymesa")
    if installed != VERSION:
        raise UnsupportedError(f"unsupported: tinymesa {installed}: expected {VERSION}, whose structures are known here")
    spec = find_spec("tinymesa")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("libtinymesa.so")


def _compile(library: Path, kernel: str, chip: Chip, program: str, unroll: bool) -> MachineCode:
    name = "\0".join((code_digest(_KIND), VERSION, str(chip.gpu), str(chip.chip), str(unroll), program))
    path = disk_cache.folder(_KIND) / hashlib.sha256(name.encode()).hexdigest()
    kept: MachineCode | None = values.load(path, MachineCode, packed=True)
    if kept is None:
        kept = _ask(library, kernel, chip, program, unroll)
        values.store(path, MachineCode, kept, packed=True)
    return _with_room(kept, chip)


def _with_room(code: MachineCode, chip: Chip) -> MachineCode:
    """The code with the group, and where it is another chip's with the waves, that this chip has registers for."""
    waves = chip.waves(code.registers) if chip.code_of else code.waves
    return replace(code, waves=waves, group_limit=chip.group_limit(code.registers))


def _ask(library: Path, kernel: str, chip: Chip, program: str, unroll: bool) -> MachineCode:
    request = {"library": str(library), "gpu": chip.gpu, "chip": chip.chip, "program": program, "unroll": unroll}
    try:
        with _LOCK:
            reply = _helper.do(json.dumps(request).encode())
    except HelperEndedError as error:
        whose = "adreno-sim's limit for one kernel" if error.limit else "a limit or a bug of Mesa"
        raise UnsupportedError(f"unsupported by isa: kernel {kernel} for {chip.name}: Mesa's ir3 {error}: {whose}") from None
    except NoHelperError as error:
        raise UnsupportedError(f"unsupported by isa: Mesa runs in a child process, and there is none: {error}") from None
    except RuntimeError as error:
        raise UnsupportedError(f"unsupported by isa: kernel {kernel} for {chip.name}: {error}") from None
    return _read(json.loads(reply), chip)


def _read(figures: dict[str, Any], chip: Chip) -> MachineCode:
    text, registers = figures["text"], figures["max_register"] + 1
    return MachineCode(
        instructions=count_instructions(text),
        registers=registers,
        half_registers=count_half_registers(text),
        waves=figures["waves"],
        group_limit=chip.group_limit(registers),
        lanes=_LANES * (1 + figures["double_wave"]),
        text=text,
        lines=place_lines(text, figures["lines"]),
        **{
            name: figures[name]
            for name in (
                "spill_stores", "spill_loads", "private_bytes", "local_bytes", "constants", "loops", "ss", "sy", "ss_stall",
                "sy_stall",
            )
        },
    )  # fmt: skip
