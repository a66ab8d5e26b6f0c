"""`check`: compile a model, run every kernel on a device, compare, audit the plan, and report."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...backends.open import announce_devices
from ...base.bundle_name import find_wrong_name
from ...base.errors import OptionError
from ...base.progress import Progress
from ...device.protocol import Device
from ...results.model import Report
from ..artifact.model import CompiledModel, as_compiled, is_compiled
from .device import open_for_check
from .prepare import CheckOptions, Inputs, Source, prepare
from .stages.context import CheckContext
from .stages.run import run_check


def check(
    model: Source,
    inputs: Inputs | None = None,
    *,
    device: str | Device | None = None,
    checks: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Compile `model` with TVM's Adreno pipeline, run it on `device`, compare every kernel and the whole model.

    model: path of an .onnx file, of a .pt2 file, of a .py file with a TVMScript module, or of a saved bundle (.asim); an ONNX
    model, a torch.export.ExportedProgram, a Relax IRModule, or a CompiledModel. A bundle is only run: it has no references to
    compare with, and says so.
    inputs: arrays by name or in order, or a file (.npz, .npy, picture); None = seeded, scaled until nothing saturates.
    device: a device string or an open device; None = ADRENO_SIM_DEVICE, else sim:adreno-740. checks: "off", "bounds" or
    "full", for a device string. progress: notified of what happens. options: the fields of CheckOptions.

    Returns a Report; defects are its findings. What the device refuses is a finding. Raises AdrenoSimError for bad input and
    UnsupportedError for what TVM or the device cannot do, unless errors were found before (then the report says where it
    stopped). A crash of TVM, ONNX Runtime or PyTorch ends the calling process (docs/api.md says what to do about it).
    """
    wanted = CheckOptions.of(options, model)
    if wanted.save is not None and is_compiled(model):
        raise OptionError("save", "this is a bundle already")
    if wanted.references and is_compiled(model):
        raise OptionError("references", "a bundle carries its own; give the model itself")
    if wanted.save is not None and (wrong := find_wrong_name(wanted.save)):
        raise OptionError("save", f"{wanted.save}: {wrong}")
    if wanted.reproduce_kernel and wanted.reproduce is None:
        raise OptionError("reproduce_kernel", "names the kernel to reproduce, and nothing is to be reproduced (reproduce)")
    if wanted.plan is not None:
        from ..plan.apply import require_plan  # with all planners, which few checks need

        require_plan(wanted.plan)
    announce_devices(text for text in (device, wanted.compare_with) if isinstance(text, str))
    asked = {"checks": checks, "seed": options.get("seed")}
    asked = {name: value for name, value in asked.items() if value is not None}
    bundle = as_compiled(model)
    if bundle is not None and bundle.entries:
        return _check_session(bundle, inputs, device, checks, progress, options)
    context = CheckContext(open_for_check(device, asked, wanted.counters), wanted, progress or Progress(), asked)
    return run_check(context, partial(prepare, model if bundle is None else bundle, inputs, wanted, own=wanted.references))


def _check_session(
    bundle: CompiledModel,
    inputs: Inputs | None,
    device: str | Device | None,
    checks: str | None,
    progress: Progress | None,
    options: dict[str, Any],
) -> Report:
    """Run the calls that a bundle of a session carries. OptionError for what says nothing about them."""
    from .session.compile import OPTIONS
    from .session.replay import check_script

    if inputs is not None:
        raise OptionError("inputs", "this is a bundle of a session: its calls have their own")
    given = {name: value for name, value in options.items() if value not in (None, (), [], {}, False)}
    for name in given:
        if name not in (*OPTIONS, "keep_going"):
            raise OptionError(name, "means nothing for a bundle of a session")
    given.pop("keep_going", None)  # every call runs anyway
    return check_script(bundle, device, checks, progress, given)
