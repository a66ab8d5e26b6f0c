"""What a recording is replayed with: what it says of itself, as far as a file may, and what the command line says."""

from __future__ import annotations

from typing import Any

from ...backends.sim.device_text import read_device
from ...base.errors import AdrenoSimError
from ...base.run_options import RunOptions
from ...base.trust.device_string import parse_device_string
from ...base.trust.table import Input, environment_guards, take_device, take_options
from ..settings import DriverSettings
from .archive import Trace


def choose_settings(
    trace: Trace, file: str, device: str | None = None, **commanded: Any
) -> tuple[DriverSettings, RunOptions, list[str]]:  # fmt: skip
    """What the simulated device of a replay is opened with, its options, and what of the recording's own settings is not taken
    over, in words.

    file: the recording's, for errors. device: a simulated one in the recorded one's place. commanded: options of a run by name,
    None for those that are not given. Raises AdrenoSimError for a device that cannot be, or that a recording may not name.
    """
    commanded = {name: value for name, value in commanded.items() if value is not None}
    try:
        level = take_options(Input.RECORDING, {"checks": trace.checks} if trace.checks else {})
        recorded = None if device else take_device(Input.RECORDING, trace.device)
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{file}: {error}") from None
    if recorded is None:
        chosen, refused = parse_device_string(str(device)).with_defaults(level.options), level.refused
    else:
        asked = {**recorded.options, **level.options, **environment_guards()}
        chosen, refused = parse_device_string(recorded.text).with_defaults(asked), {**recorded.refused, **level.refused}
    chosen = chosen.without(commanded).with_defaults(commanded)
    _, options = read_device(str(chosen).partition(":")[2])
    notes = [f"not as recorded: {sentence}" for name, sentence in refused.items() if name not in commanded]
    return DriverSettings(str(chosen.without(("checks",))), options.checks, "", False), options, notes
