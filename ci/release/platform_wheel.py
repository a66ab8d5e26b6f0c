"""Checks that a wheel for manylinux holds what it says: python ci/release/platform_wheel.py WHEEL

Its libraries need no newer glibc than their tag says, and its tag is not one for any platform.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def main() -> int:
    wheel = Path(sys.argv[1])
    tag = re.search(r"manylinux_(\d+)_(\d+)_x86_64", wheel.name)
    if tag is None:
        print(f"error: {wheel.name}: expected a tag of manylinux", file=sys.stderr)
        return 1
    allowed = int(tag[1]), int(tag[2])
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if re.search(r"\.so(\.\d+)*$", name)]
        if len(libraries) != 2:
            print(f"error: {wheel.name}: expected the driver and its loader, got {libraries}", file=sys.stderr)
            return 1
        for name in libraries:
            archive.extract(name, folder)
            said = subprocess.run(["objdump", "-T", Path(folder, name)], capture_output=True, text=True, check=True).stdout
            newest = max((tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", said)), default=(0, 0))
            print(f"{name}: glibc {newest[0]}.{newest[1]}")
            if newest > allowed:
                print(f"error: {name} needs glibc {newest}: expected at most {allowed}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
