"""The examination of a TVM for people."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, teller
from ..table import Column, print_table, text_column

if TYPE_CHECKING:
    from ...compiler.doctor.examine import Diagnosis, Examination

COLUMNS: list[Column[Diagnosis]] = [
    text_column("defect", lambda item: item.name),
    text_column("what TVM does", lambda item: item.summary),
    text_column("in this TVM", lambda item: "yes" if item.present else "no"),
    text_column("TVM's passes alone", lambda item: item.stock),
    text_column("fix", lambda item: item.fix if item.present else ""),
    text_column("with the fixes", lambda item: item.fixed),
]


def show(found: Examination, file: IO[str]) -> None:
    """Print the versions, a line for each defect, and the verdict."""
    console = open_console(file)
    say = teller(console)

    say(f"TVM {found.tvm} (apache-tvm-ffi {found.tvm_ffi}), Python {found.python}, on {found.device}")
    print_table(console, COLUMNS, found.defects, pad_edge=False)
    unfixed = [item.name for item in found.defects if not item.is_fixed]
    say(f"{len(found.present)} of {len(found.defects)} known defects in this TVM ({found.seconds:.0f} s)")
    if found.resembles:
        say(f"its defects are those of TVM {', '.join(found.resembles)}")
    elif found.complete:
        say(f"no supported series of TVM has exactly these defects (this one calls itself {found.series})")
    if unfixed:
        say(f"not right with the fixed pipeline either: {', '.join(unfixed)}")
    else:
        say("ok: the fixed pipeline is right on every model examined")
