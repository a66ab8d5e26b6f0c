"""The chips for which there is machine code, by name: a630, a740, x1-85."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from ..base.errors import OptionError, UnsupportedError
from ..profiles import builtin
from ..records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PROFILE = "adreno-"
_MOST_ITEMS = 1024
"""Of a group, on every chip here."""
_MOST_WAVES = 16

MOST_REGISTERS = 48
"""That an instruction can name."""


@dataclass(frozen=True)
class Chip:
    """A chip as Mesa knows it.

    file: registers of four words that a core has for each lane. granularity: waves that get registers together. wave: lanes of
    the smallest wave. code_of: the chip whose code stands for this one's, "" if it is its own. single_waves: waves may get
    registers one by one, which leaves room for fewer.
    """

    name: str
    gpu: int
    chip: int
    file: int
    granularity: int
    wave: int
    code_of: str = ""
    single_waves: bool = False

    def group_limit(self, registers: int) -> int:
        """Returns how many work-items of a group find registers on a core, where each needs so many.

        Three public sources have this rule with the same numbers: Mesa (`ir3_get_reg_dependent_max_waves`), tinygrad's runtime
        for these GPUs (`ops_qcom.py`) and TFLite's delegate (`gpu_info.cc`).
        """
        return min(_MOST_ITEMS, self.file // max(1, registers) * self.granularity * self.wave)

    def sure_group_limit(self, registers: int) -> int:
        """Returns how many find registers whichever way waves get them; the waves that get some together always do."""
        limit = self.group_limit(registers)
        least = self.granularity * self.wave
        return max(least, self.file // max(1, registers) * self.wave) if self.single_waves else limit

    def waves(self, registers: int) -> int:
        """Returns how many waves find registers on a core."""
        return min(_MOST_WAVES, self.file // max(1, registers) * self.granularity)

    @property
    def least_group_limit(self) -> int:
        """Work-items of a group for which every kernel finds registers."""
        return self.sure_group_limit(MOST_REGISTERS)


@functools.cache
def chips() -> dict[str, Chip]:
    """Returns all chips by name."""
    rows = tomllib.loads(Path(__file__).with_name("chips.toml").read_text(encoding="utf-8"))
    return {name: Chip(name, **(rows[row["code_of"]] | row if "code_of" in row else row)) for name, row in rows.items()}


def find_chip(name: str) -> Chip:
    """Returns a chip by its name. OptionError for one that is not known."""
    found = chips().get(name.lower())
    if found is None:
        raise OptionError("isa-of", f"{name!r} is not a chip with known machine code; there are: {', '.join(chips())}")
    return found


def chip_of_profile(profile: str) -> Chip:
    """Returns the chip of a device profile, of a chip or of a phone. UnsupportedError for a profile without machine code."""
    chip = profile.partition(",")[0]
    chip = builtin.phone(chip)["chip"] if chip in builtin.phones() else chip
    name = chip.removeprefix(_PROFILE)
    found = chips().get(name) or chips().get(f"a{name}")
    if found is None or not chip.startswith(_PROFILE):
        raise UnsupportedError(
            f"unsupported: Mesa has no machine code for {profile}; expected a chip by name (--isa-of): {', '.join(chips())}"
        )
    return found
