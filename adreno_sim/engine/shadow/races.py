"""Race checks of one access: inline code compares and updates its race cells, and calls the functions of
`runtime/race_cells.c` if it may be a race."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...findings import Kind
from ...records import dataclass
from ..abi import context, race_cells
from ..abi.race_cells import CELL_BYTES
from ..emit.region import RegionEmitter
from ..llvm.text import Text
from . import init_shadow
from .access_info import AccessInfo, make_site

MAX_INLINE_CELLS = 4
"""Cells of one access that are compared inline. For more, a function compares them one by one."""

READER_WORDS = (race_cells.READER, race_cells.SECOND, race_cells.EARLIER)
ATOMIC_WORDS = (race_cells.OTHER_ATOMIC, race_cells.EARLIER_ATOMIC)


@dataclass(frozen=True)
class CellRange:
    """The race cells of one access: operands of the address of the first cell and of their number; bytes of a cell.

    `limit`, `since`: as in `race_cells`. `local`: the cells are of local memory, for which both are the epoch of the group.
    `allows_overwrite`: overwriting one's own value is not a finding.
    """

    address: str
    count: str | int
    stride: int
    limit: str
    since: str
    local: bool
    allows_overwrite: bool


class RaceChecks:
    """Emits the race checks of one region."""

    def __init__(self, e: RegionEmitter):
        self.e = e
        self._words: dict[int, str] = {}
        self._item_word = ""

    def word(self, word: int) -> str:
        """Returns a context word that is constant while a region runs. The prologue loads it once."""
        if word not in self._words:
            self._words[word] = self.e.prologue.op(f"load i64, ptr {context.field(self.e.prologue, word)}, align 8")
        return self._words[word]

    def _access_word(self, what: AccessInfo, text: str, flags: int) -> tuple[str, int]:
        """Returns this access as a cell word, and its number."""
        number = min(self.e.unit.table.add(make_site(self.e, Kind.DATA_RACE, what, text)), race_cells.ACCESS)
        return self.e.body.op(f"or i64 {self._item_bits()}, {number | flags}"), number

    def _item_bits(self) -> str:
        """Returns epoch and local id as in a cell word."""
        if not self._item_word:
            t = self.e.opening
            self._item_word = t.op(f"or i64 {t.op(f'shl i64 {self.e.item_ids.slot(t)}, 16')}, {self.word(context.EPOCH)}")
        return self._item_word

    def emit_read_check(self, here: CellRange | None, what: AccessInfo, text: str, flags: int = 0) -> None:
        """Emits check and record of a read, if these cells record readers."""
        if here is None or here.stride < CELL_BYTES:
            return
        t = self.e.body
        mine, _ = self._access_word(what, text, flags)
        if not isinstance(here.count, int) or here.count > MAX_INLINE_CELLS:
            self._call_read(t, here, mine, what)
            return
        bad = init_shadow.emit_or(t, [self._emit_odd_read(here, mine, number) for number in range(here.count)])
        odd, on = t.fresh("odd"), t.fresh("on")
        t.branch(bad, odd, on, unlikely=True)
        cold = t.aside()
        cold.block(odd)
        self._call_read(cold, here, mine, what)
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)

    def _emit_odd_read(self, here: CellRange, mine: str, number: int) -> str:
        """Returns an i1: whether a read of one cell needs the full check. Marks the work-item's own write as read."""
        t = self.e.body
        at = self._word_address(here, number, race_cells.WRITTEN)
        written = t.op(f"load i64, ptr {at}, align 8")
        own = t.op(f"icmp ult i64 {t.op(f'xor i64 {written}, {mine}')}, {race_cells.OWN}")
        recent = t.op(f"icmp uge i64 {written}, {here.limit}")
        if not here.allows_overwrite:
            marked = t.op(f"select i1 {own}, i64 {t.op(f'or i64 {written}, {race_cells.READ}')}, i64 {written}")
            t.do(f"store i64 {marked}, ptr {at}, align 8")
        foreign = t.op(f"and i1 {recent}, {t.op(f'xor i1 {own}, true')}")
        foreign = self._emit_any_foreign(here, mine, number, ATOMIC_WORDS, foreign)
        return self._record_reader(here, mine, number, foreign)

    def _emit_any_foreign(self, here: CellRange, mine: str, number: int, words: Sequence[int], so_far: str) -> str:
        """Returns an i1: `so_far`, or one of these words of a cell is a recent access of another work-item or epoch."""
        t = self.e.body
        for offset in (word for word in words if word < here.stride):
            word = t.op(f"load i64, ptr {self._word_address(here, number, offset)}, align 8")
            recent = t.op(f"icmp uge i64 {word}, {here.limit}")
            other = t.op(f"icmp uge i64 {t.op(f'xor i64 {word}, {mine}')}, {race_cells.OWN}")
            so_far = t.op(f"or i1 {so_far}, {t.op(f'and i1 {recent}, {other}')}")
        return so_far

    def _record_reader(self, here: CellRange, mine: str, number: int, foreign: str) -> str:
        """Records a reader in its cell. Returns an i1: `foreign`, or the cell holds a reader of another epoch or group that
        must be kept."""
        t = self.e.body
        first_at, second_at = (
            self._word_address(here, number, race_cells.READER),
            self._word_address(here, number, race_cells.SECOND),
        )
        first, second = t.op(f"load i64, ptr {first_at}, align 8"), t.op(f"load i64, ptr {second_at}, align 8")
        now = t.op(f"icmp uge i64 {first}, {here.since}")
        differing = t.op(f"and i64 {t.op(f'xor i64 {first}, {mine}')}, {race_cells.LOCAL_ID_MASK << race_cells.LOCAL_ID_SHIFT}")
        other = t.op(f"icmp ne i64 {differing}, 0")  # the same work-item may have read in another epoch
        free = t.op(f"icmp ult i64 {second}, {here.since}")
        also = t.op(f"and i1 {t.op(f'and i1 {now}, {other}')}, {free}")
        known = now if here.local else t.op(f"icmp uge i64 {first}, {here.limit}")
        t.do(f"store i64 {t.op(f'select i1 {known}, i64 {first}, i64 {mine}')}, ptr {first_at}, align 8")
        t.do(f"store i64 {t.op(f'select i1 {also}, i64 {mine}, i64 {second}')}, ptr {second_at}, align 8")
        if here.local:
            return foreign
        must_keep = t.op(f"and i1 {known}, {t.op(f'xor i1 {now}, true')}")
        return t.op(f"or i1 {foreign}, {must_keep}")

    def emit_write_check(
        self, here: CellRange, what: AccessInfo, text: str, same: Callable[[Text], str] | None, flags: int = 0
    ) -> int:  # fmt: skip
        """Emits check and record of a write. Returns the number of its site. `same` emits an i1: whether memory stays
        unchanged."""
        t = self.e.body
        mine, number = self._access_word(what, text, flags)
        if not isinstance(here.count, int) or here.count > MAX_INLINE_CELLS:
            self._call_write(t, here, mine, what, same)
            t.do(f"call void @shadow_fill(ptr {here.address}, i64 {here.count}, i64 {here.stride}, i64 {mine})")
            return number
        bad = init_shadow.emit_or(t, [self._emit_odd_write(here, mine, n, bool(flags)) for n in range(here.count)])
        odd, on = t.fresh("odd"), t.fresh("on")
        t.branch(bad, odd, on, unlikely=True)
        cold = t.aside()
        cold.block(odd)
        self._call_write(cold, here, mine, what, same)
        cold.jump(on)
        t.put_aside(cold)
        t.block(on)
        for n in range(here.count):
            t.do(f"store i64 {mine}, ptr {self._word_address(here, n, race_cells.WRITTEN)}, align 8")
        return number

    def _emit_odd_write(self, here: CellRange, mine: str, number: int, is_atomic: bool) -> str:
        """Returns an i1: whether a write of one cell needs the full check."""
        t = self.e.body
        written = t.op(f"load i64, ptr {self._word_address(here, number, race_cells.WRITTEN)}, align 8")
        recent = t.op(f"icmp uge i64 {written}, {here.limit}")
        distance = t.op(f"xor i64 {written}, {mine}")
        if here.allows_overwrite:
            fine = t.op(f"icmp ult i64 {distance}, {race_cells.OWN}")
        else:  # one's own value may be replaced once it has been read
            fine = t.op(f"icmp ult i64 {t.op(f'sub i64 {distance}, {race_cells.READ}')}, {race_cells.READ}")
        odd = t.op(f"and i1 {recent}, {t.op(f'xor i1 {fine}, true')}")
        words = READER_WORDS if is_atomic else (*READER_WORDS, *ATOMIC_WORDS)
        return self._emit_any_foreign(here, mine, number, words, odd)

    def _word_address(self, here: CellRange, number: int, word: int) -> str:
        at = number * here.stride + word
        return self.e.body.op(f"getelementptr i8, ptr {here.address}, i64 {at}") if at else here.address

    def _call_read(self, t: Text, here: CellRange, mine: str, what: AccessInfo) -> None:
        t.do(f"call void @shadow_read({self._cell_operands(here)}, {self._call_operands(t, here, mine, what)})")

    def _call_write(self, t: Text, here: CellRange, mine: str, what: AccessInfo, same: Callable[[Text], str] | None) -> None:
        mode = str(race_cells.ALLOWS_OVERWRITE)
        if same is not None:
            mode = t.op(f"zext i1 {same(t)} to i64")
            mode = t.op(f"or i64 {mode}, {race_cells.ALLOWS_OVERWRITE}") if here.allows_overwrite else mode
        operands = self._call_operands(t, here, mine, what, f"i64 {mode}, ")
        t.do(f"call void @shadow_write({self._cell_operands(here)}, {operands})")

    @staticmethod
    def _cell_operands(here: CellRange) -> str:
        return f"ptr %ctx, ptr {here.address}, i64 {here.count}, i64 {here.stride}"

    def _call_operands(self, t: Text, here: CellRange, mine: str, what: AccessInfo, mode: str = "") -> str:
        values = [*what.values(t), "0", "0", "0"][: race_cells.VALUE_COUNT]
        value_operands = ", ".join(f"i64 {v}" for v in values)
        return f"i64 {mine}, i64 {here.limit}, i64 {here.since}, i64 %gl, {mode}{value_operands}"
