"""What findings say of an access, and where the shadows of arguments lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...findings import Kind
from ...ir.provenance import Ptr
from ...records import dataclass
from ..abi import argument_block
from ..abi.specialization import ShadowSpec, shadow_of
from ..emit import access
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.image_refs import ImageRef
from ..emit.region import RegionEmitter
from ..llvm.text import Text


@dataclass(frozen=True)
class AccessInfo:
    """An access as findings describe it: shape of its site, view, size, coordinates, and a function that emits its values."""

    shape: str
    view: str
    size: int
    dimensions: int
    values: Callable[[Text], Sequence[str | int]]


def describe_access(e: RegionEmitter, pointer: Ptr, size: int, operand: str | None = None) -> AccessInfo:
    """Describes an access of `size` bytes; 0 if the size varies: `operand` is then the i64 that holds it."""
    view = pointer.object.name if pointer.object else ""
    rest = () if operand is None else (operand,)
    return AccessInfo("offset", view, size, 0, lambda t: (*access.site_values(e, pointer, t), *rest))


def describe_texel(image: ImageRef, where: Sequence[str]) -> AccessInfo:
    """Describes an access of the texel at the coordinates `where`."""

    def values(t: Text) -> list[str]:
        found = [t.op(f"sext i32 {c} to i64") for c in where] + ["0"] * (3 - len(where))
        return found + [t.op(f"sext i32 {image.extent(d)} to i64") for d in range(len(where))] + ["0"] * (3 - len(where))

    return AccessInfo("coordinate", image.param.name, image.format.texel_bytes, len(where), values)


def make_site(e: RegionEmitter, kind: Kind, what: AccessInfo, text: str) -> DiagnosticSite:
    """Returns the diagnostic site of an access of the current instruction."""
    statement = e.unit.instr_number(e.current) if kind is Kind.DATA_RACE else 0
    return DiagnosticSite(kind, e.loc, what.shape, what.view, what.size, what.dimensions, text, statement)


def report_access_if(e: RegionEmitter, bad: str, what: AccessInfo, kind: Kind, text: str) -> None:
    """Emits the report of an access if `bad`, an i1, is true; nothing if it is the constant "false"."""
    if bad == "false":
        return
    t = e.body
    failed, on = t.fresh("missing"), t.fresh("on")
    t.branch(bad, failed, on, unlikely=True)
    cold = t.aside()
    cold.block(failed)
    e.report(cold, make_site(e, kind, what, text), *what.values(cold))
    cold.jump(on)
    t.put_aside(cold)
    t.block(on)


def shadow_spec(e: RegionEmitter, index: int) -> ShadowSpec | None:
    """Returns what is recorded of an argument."""
    return shadow_of(e.unit.spec.args[index])


def init_shadow_of_argument(e: RegionEmitter, index: int) -> str:
    """Returns the address of an argument's init shadow. It has one if it has a `shadow_spec`."""
    return e.argument_slots.field(index, argument_block.shadow_offset(e.unit.spec.args[index]), "ptr")


def cells_of_argument(e: RegionEmitter, index: int) -> str:
    """Returns the address of an argument's race cells. It has some if its `shadow_spec` says so."""
    return e.argument_slots.field(index, argument_block.shadow_offset(e.unit.spec.args[index]) + 8, "ptr")
