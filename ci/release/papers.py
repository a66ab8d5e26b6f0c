"""What goes with a release's files: python ci/release/papers.py VERSION FOLDER

Writes into FOLDER: NOTES.md, the changelog's section of the version; adreno_sim-VERSION.cdx.json, a bill of materials (CycloneDX)
of what `adreno-sim[tvm]` installs, by version and hash as pinned in adreno_sim/pins/tvm.txt; SHA256SUMS of every file there.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "adreno_sim" / "pins" / "tvm.txt"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: *; *(?P<marker>[^\\]*?))? *\\?$")
_HASH = re.compile(r"^ +--hash=sha256:(?P<digest>[0-9a-f]{64})")


def main() -> int:
    version, folder = sys.argv[1], Path(sys.argv[2])
    (folder / "NOTES.md").write_text(read_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version), encoding="utf-8")
    bill = make_bill(version, PINS.read_text(encoding="utf-8"))
    (folder / f"adreno_sim-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    (folder / "SHA256SUMS").write_text(sum_files(folder), encoding="utf-8")
    return 0


def read_notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading. ValueError if there is none, or it says nothing."""
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md: expected a section [{version}] that says what changed")
    return found[1].strip() + "\n"


def make_bill(version: str, pins: str) -> dict[str, Any]:
    """The bill of materials as CycloneDX's JSON. pins: text of a file of pins. ValueError for a pin without a hash."""
    parts = list(_read_components(pins))
    own = {
        "type": "application",
        "bom-ref": "adreno-sim",
        "name": "adreno-sim",
        "version": version,
        "purl": f"pkg:pypi/adreno-sim@{version}",
    }
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": own}, "components": parts,
        "dependencies": [{"ref": "adreno-sim", "dependsOn": [part["bom-ref"] for part in parts]}],
    }  # fmt: skip


def _read_components(pins: str) -> Iterator[dict[str, Any]]:
    """A component for each pin; the hashes of a package's files are properties, as they are of several files."""
    part: dict[str, Any] = {}
    for line in [*pins.splitlines(), ""]:
        pin, digest = _PIN.match(line), _HASH.match(line)
        if digest:
            part["properties"].append({"name": "pip:sha256", "value": digest["digest"]})
        elif (pin or not line) and part:
            if not any(each["name"] == "pip:sha256" for each in part["properties"]):
                raise ValueError(f"{part['name']}: expected hashes")
            yield part
            part = {}
        if pin:
            purl = f"pkg:pypi/{pin['name'].lower()}@{pin['version']}"
            part = {
                "type": "library",
                "bom-ref": purl,
                "name": pin["name"],
                "version": pin["version"],
                "purl": purl,
                "properties": [],
            }
            if pin["marker"]:
                part["properties"].append({"name": "pip:marker", "value": pin["marker"].strip()})


def sum_files(folder: Path) -> str:
    """A line for each file of a folder but SHA256SUMS, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


if __name__ == "__main__":
    sys.exit(main())
