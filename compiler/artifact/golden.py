"""Golden results that travel inside a bundle, so that a machine without TVM can check it kernel by kernel."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import field

import numpy as np

from ...base.array_files import open_npz
from ...base.bounded_read import parse_json
from ...records import dataclass
from ...results.expected import Expected
from .serial import SchemaError, decode, encode

SCHEMA = "adreno-sim/golden/1"
DOCUMENT, ARRAYS = "golden.json", "golden.npz"


@dataclass(frozen=True)
class GoldenCall:
    """One call of host function `function`: the arguments it should change. results: positions of these, in order."""

    function: str
    results: tuple[int, ...]


@dataclass(frozen=True)
class GoldenData:
    """What the calls of one run should compute, each given what the calls before it should have computed.

    calls: call index (as a decimal text) -> its recorded results. origin: the source of the inputs, in words.
    references: names of whole-model references. unchecked: what no reference says anything about.
    arrays: "input/NAME", "INDEX/POSITION" and "output/REFERENCE/NUMBER" -> array; either with "/allowed": the largest
    error of each element, and with "/others": further arrays whose elements are as right.
    bound: relative tolerance of the outputs, which older bundles of models in halves state; None = that of their type.
    """

    origin: str
    calls: dict[str, GoldenCall]
    references: tuple[str, ...]
    unchecked: tuple[str, ...]
    arrays: dict[str, np.ndarray] = field(compare=False)
    bound: float | None = None

    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs that everything else follows from."""
        return {key.removeprefix("input/"): array for key, array in self.arrays.items() if key.startswith("input/")}

    def outputs(self, reference: str) -> list[Expected]:
        """Outputs of the whole model by `reference`, in order."""
        found: list[Expected] = []
        while (key := f"output/{reference}/{len(found)}") in self.arrays:
            found.append(self._expected(key))
        return found

    def result(self, index: int, position: int) -> Expected:
        """What argument `position` of call `index` should hold after it. Bundles of 0.1 do not say how far off it may be."""
        return self._expected(f"{index}/{position}")

    def _expected(self, key: str) -> Expected:
        allowed, others = (self.arrays.get(f"{key}/{part}") for part in ("allowed", "others"))
        return Expected(self.arrays[key], None, allowed, others=others)


@dataclass(frozen=True)
class _Document:
    """golden.json: GoldenData without arrays."""

    schema: str
    origin: str
    calls: dict[str, GoldenCall]
    references: tuple[str, ...]
    unchecked: tuple[str, ...]
    bound: float | None = None


def to_members(golden: GoldenData) -> dict[str, bytes]:
    """The members of a bundle that hold `golden`."""
    document = _Document(SCHEMA, golden.origin, golden.calls, golden.references, golden.unchecked, golden.bound)
    return {DOCUMENT: json.dumps(encode(document), indent=1).encode(), ARRAYS: _pack(golden.arrays)}


def from_members(members: Mapping[str, bytes]) -> GoldenData | None:
    """The golden results among a bundle's members, None if there are none. Raises SchemaError for damaged ones."""
    if DOCUMENT not in members:
        return None
    data = parse_json(members[DOCUMENT])
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise SchemaError(f"{DOCUMENT}: expected schema {SCHEMA!r}")
    document = decode(_Document, data, DOCUMENT)
    with open_npz(io.BytesIO(members[ARRAYS])) as archive:
        arrays = archive.read_all()
    for index, call in document.calls.items():
        for position in call.results:
            if f"{index}/{position}" not in arrays:
                raise SchemaError(f"{ARRAYS}: result {position} of call {index} is missing")
    return GoldenData(document.origin, document.calls, document.references, document.unchecked, arrays, document.bound)


def _pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """As np.savez_compressed, quickly: results of rectifiers are half zeros, the rest does not shrink anyway."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for key, array in arrays.items():
            npy = io.BytesIO()
            np.lib.format.write_array(npy, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), npy.getvalue(), zipfile.ZIP_DEFLATED, 1)
    return packed.getvalue()
