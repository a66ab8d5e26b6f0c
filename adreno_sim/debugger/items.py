"""Work-items by number and by ids."""

from __future__ import annotations

from ..records import dataclass

Ids = tuple[int, int, int]


@dataclass(frozen=True)
class Grid:
    """total: global size. group: size of a full group. offset: global offset. dimensions: as the launch gives them."""

    total: Ids
    group: Ids
    offset: Ids
    dimensions: int

    @property
    def groups(self) -> Ids:
        x, y, z = (-(-whole // part) for whole, part in zip(self.total, self.group, strict=True))
        return x, y, z

    def group_ids(self, number: int) -> Ids:
        return _ids(number, self.groups)

    def size_of(self, number: int) -> Ids:
        """Returns the extents of a group: at the edge of the grid it may be smaller."""
        at = self.group_ids(number)
        x, y, z = (min(part, whole - n * part) for whole, part, n in zip(self.total, self.group, at, strict=True))
        return x, y, z

    def items_of(self, number: int) -> int:
        x, y, z = self.size_of(number)
        return x * y * z

    def local_ids(self, group: int, lane: int) -> Ids:
        return _ids(lane, self.size_of(group))

    def global_ids(self, group: int, lane: int) -> Ids:
        parts = zip(self.group_ids(group), self.group, self.local_ids(group, lane), self.offset, strict=True)
        x, y, z = (n * size + local + start for n, size, local, start in parts)
        return x, y, z

    def find(self, ids: tuple[int, ...]) -> tuple[int, int] | None:
        """Returns the group of a work-item of these global ids, and its place there; one number counts all. None for none."""
        if len(ids) == 1 and self.dimensions > 1:
            ids = tuple(n + start for n, start in zip(_ids(ids[0], self.total), self.offset, strict=True))
        inside = [n - start for n, start in zip((*ids, *self.offset[len(ids) :]), self.offset, strict=True)]
        if len(ids) > 3 or any(not 0 <= n < whole for n, whole in zip(inside, self.total, strict=True)):
            return None
        at = [n // part for n, part in zip(inside, self.group, strict=True)]
        group = at[0] + self.groups[0] * (at[1] + self.groups[1] * at[2])
        size = self.size_of(group)
        local = [n % part for n, part in zip(inside, self.group, strict=True)]
        return group, local[0] + size[0] * (local[1] + size[1] * local[2])

    def query(self, name: str, group: int, lane: int, axis: int) -> int | None:
        """Returns what a work-item function gives; None for a name that is none."""
        if name == "get_work_dim":
            return self.dimensions
        if name == "get_global_id":
            return self.global_ids(group, lane)[axis]
        if name == "get_local_id":
            return self.local_ids(group, lane)[axis]
        if name == "get_group_id":
            return self.group_ids(group)[axis]
        if name == "get_local_size":
            return self.size_of(group)[axis]
        fixed = {
            "get_global_size": self.total, "get_num_groups": self.groups, "get_global_offset": self.offset,
            "get_enqueued_local_size": self.group,
        }  # fmt: skip
        return fixed[name][axis] if name in fixed else None

    def show(self, ids: Ids) -> str:
        """Returns ids as text, as many as the launch has dimensions."""
        return "(" + ", ".join(map(str, ids[: self.dimensions])) + ")"


def _ids(number: int, size: Ids) -> Ids:
    x, y, _ = size
    return number % x, number // x % y, number // (x * y)
