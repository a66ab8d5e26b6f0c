"""Which versions of pytest the plugin runs with."""

from __future__ import annotations

import re

PYTEST = (7, 0)
"""The first with stashes, which keep the plugin's state."""
PLUGGY = (1, 2)
"""The first with `hookimpl(wrapper=True)`; pytest 7 also runs with older ones."""


def why_too_old(pytest_version: str, pluggy_version: str) -> str:
    """Why the plugin cannot run with these versions, and what to do; "" if it can."""
    for name, version, oldest in (("pytest", pytest_version, PYTEST), ("pluggy", pluggy_version, PLUGGY)):
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < oldest:
            return (
                f"adreno-sim's pytest plugin needs {name} {oldest[0]}.{oldest[1]} or later, found {version}; "
                f"next: pip install -U pytest pluggy, or leave the plugin out with -p no:adreno_sim"
            )
    return ""
