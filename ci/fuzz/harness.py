"""A reader under Atheris: python ci/fuzz/harness.py READER FOLDER [options of libFuzzer]

FOLDER keeps what reached new code, and the inputs of failures. Memory and the time of one input are limited. `ci/fuzz.sh` runs
all.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))
with atheris.instrument_imports(include=["adreno_sim", "compiler", "golden"]):
    pass
from mutator import mutate

SECONDS, MEBIBYTES, BYTES = 20, 4096, 16384


def main() -> None:
    os.environ.setdefault("ADRENO_SIM_CACHE", "off")
    name, place = sys.argv[1:3]
    found, failures = Path(place) / name, Path(place) / "failures"
    for folder in (found, failures):
        folder.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["adreno_sim"]):
        import readers

        reader = readers.READERS[name]
        for number, seed in enumerate(readers.seeds_of(name)):
            (found / f"seed-{number}").write_bytes(seed)
            readers.run(reader, seed)  # what it imports on the way is seen too

    def change(data: bytes, most: int, seed: int) -> bytes:
        dice = random.Random(seed)
        return (mutate(data, dice) if dice.randrange(4) else atheris.Mutate(data, most))[:most]

    options = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEBIBYTES}", f"-max_len={BYTES}", f"-artifact_prefix={failures}/{name}-"]
    faulthandler.enable()
    atheris.Setup(
        [sys.argv[0], *options, *sys.argv[3:], str(found)], lambda data: readers.run(reader, data), custom_mutator=change
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
