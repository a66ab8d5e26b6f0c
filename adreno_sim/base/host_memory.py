"""How much memory this process may still take, so that a simulated allocation fails cleanly instead of the whole process."""

from __future__ import annotations

from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")  # version 2; "max" where there is no limit


def available_bytes() -> int | None:
    """Available bytes of the host, or of its container where that has fewer; None if neither reports them."""
    found = [amount for amount in (_of_host(), _of_container()) if amount is not None]
    return min(found, default=None)


def _of_host() -> int | None:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    amounts = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(amounts["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in amounts else None


def _of_container() -> int | None:
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return max(int(limit) - used, 0) if limit.isdigit() else None
