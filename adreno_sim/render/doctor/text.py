"""The examination of a TVM for people."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ..console import open_console, teller

if TYPE_CHECKING:
    from ...compiler.doctor.examine import Examination


def show(found: Examination, file: IO[str]) -> None:
    """Print the versions, a line for each defect, and the verdict."""
    from rich import box
    from rich.table import Table

    console = open_console(file)
    say = teller(console)

    say(f"TVM {found.tvm} (apache-tvm-ffi {found.tvm_ffi}), Python {found.python}, on {found.device}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("defect", "what TVM does", "in this TVM", "TVM's passes alone", "fix", "with the fixes"):
        table.add_column(title, overflow="fold")
    for item in found.defects:
        here = "yes" if item.present else "no"
        table.add_row(item.name, item.summary, here, item.stock, item.fix if item.present else "", item.fixed)
    console.print(table)
    unfixed = [item.name for item in found.defects if not item.is_fixed]
    say(f"{len(found.present)} of {len(found.defects)} known defects in this TVM ({found.seconds:.0f} s)")
    if found.resembles:
        say(f"its defects are those of TVM {', '.join(found.resembles)}")
    elif found.complete:
        say(f"no supported series of TVM has exactly these defects (this one calls itself {found.series})")
    if unfixed:
        say(f"not right with the fixed pipeline either: {', '.join(unfixed)}")
    else:
        say("ok: the fixed pipeline is right on every model looked at")
