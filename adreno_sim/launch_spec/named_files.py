"""Files that a launch file names: they are below its own folder, or below the one that the command line names (--root)."""

from __future__ import annotations

from pathlib import Path

from ..base.toml_tables import Table
from ..base.trust.confined_path import is_below
from ..records import dataclass


@dataclass(frozen=True)
class FileNames:
    """folder: the launch file's, from which names start. root: the folder below which files must lie, links followed."""

    folder: Path
    root: Path

    def find(self, table: Table, key: str, name: str, because: str = "") -> Path:
        """The path that the entry `key` names. Raises AdrenoSimError if it leads out. because: the reason, for the error."""
        path = self.folder / name
        if not is_below(path, self.root):
            raise table.error(key, f"{name}: expected a file below {self.describe()}{because} (--root FOLDER names a wider one)")
        return path

    def describe(self) -> str:
        """The folder in words."""
        return "the launch file's folder" if self.root == self.folder else str(self.root)

    def holds(self, path: Path) -> bool:
        """Whether a path is below the root."""
        return is_below(path, self.root)
