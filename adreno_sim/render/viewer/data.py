"""What the script of a page of findings draws, as data. Numbers of arrays are base64 of their bytes: exact, and small."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.text.spelling import spell_line
from ...findings import Finding
from ...results.evidence import ArrayPair, CallNote, Evidence, find_element
from ...results.run_report import host_call_of

MOST_STORES = 200
"""Stores listed of one element."""

_WIDE = {"f2": "f4", "b1": "u1"}
"""Types that no array of a browser has -> those that hold their values."""


def view_data(evidence: Evidence, findings: Sequence[Finding]) -> dict[str, Any]:
    """findings: as the page lists them. See `viewer.js` for what each field is."""
    tensors = {tensor.name: number for number, tensor in enumerate(evidence.tensors)}
    return {
        "findings": [_finding(finding, evidence, tensors) for finding in findings],
        "arrays": [_array(array) for array in evidence.arrays],
        "calls": [
            [
                spell_line(call.name),
                spell_line(call.operators),
                [[spell_line(kernel), _sizes(whole), _sizes(group)] for kernel, whole, group in call.launches],
                [spell_line(name) for name in call.reads],
                [spell_line(name) for name in call.writes],
            ]
            for call in evidence.calls
        ],
        "tensors": [
            [
                spell_line(t.name), spell_line(t.storage), t.base, t.offset, t.size, t.dense, t.first, t.last,
                "x".join(map(str, t.shape)), spell_line(t.dtype), spell_line(t.scope), spell_line(t.producer),
            ]
            for t in evidence.tensors
        ],
        "planned": evidence.planned,
        "cut": list(evidence.cut),
    }  # fmt: skip


def _finding(finding: Finding, evidence: Evidence, tensors: dict[str, int]) -> dict[str, Any]:
    """array, at: the picture of what it is about, and the element there; -1 for none."""
    view = finding.detail.get("argument") or (finding.access.view if finding.access is not None else "") or finding.tensor
    number = evidence.find_array(str(view), finding.kernel) if evidence.is_about(finding) else -1
    at = -1
    if number >= 0:
        array = evidence.arrays[number]
        at = find_element(finding, array.shape, array.got.itemsize)
    stores = evidence.find_stores(finding)
    return {
        "stores": None if stores is None else [_store(store) for store in stores[:MOST_STORES]],
        "more": max(0, len(stores or ()) - MOST_STORES),
        "earlier": _earlier(finding),
        "array": number,
        "at": at,
        "values": [_number(finding.detail.get("got")), _number(finding.detail.get("golden"))],
        "tensor": tensors.get(finding.tensor, -1),
        "calls": _calls_of(finding, evidence.calls),
    }


def _calls_of(finding: Finding, calls: Sequence[CallNote]) -> list[int]:
    """The number of the call that a finding is of; none where several may be it."""
    of_kernel = [number for number, call in enumerate(calls) if finding.kernel in [launch[0] for launch in call.launches]]
    if (host := host_call_of(finding)) is not None:
        return [number for number in of_kernel if calls[number].host == host.number]
    if (number := finding.detail.get("call")) in of_kernel:
        return [number]
    return of_kernel if len(of_kernel) == 1 else []


def _earlier(finding: Finding) -> list[str] | None:
    """The other side of a race: what it does, its line, its work-item."""
    told = finding.detail.get("earlier")
    if not isinstance(told, dict):
        return None
    return [spell_line(str(told.get("access", ""))), str(told.get("line", "")), _ids(told.get("global_id", ()))]


def _store(store: dict[str, Any]) -> list[Any]:
    """Value, global and local id of the work-item, kernel, line, source."""
    ids = [_ids(store.get(name, ())) for name in ("global_id", "local_id")]
    return [_number(store["value"]), *ids, spell_line(str(store["kernel"])), store["line"], spell_line(str(store["source"]))]


def _number(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, (int, float)) else ""


def _ids(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _sizes(values: Sequence[int]) -> str:
    return " x ".join(map(str, values))


def _array(array: ArrayPair) -> dict[str, Any]:
    return {
        "name": spell_line(array.name),
        "kernel": spell_line(array.kernel),
        "dtype": array.got.dtype.name,
        "shape": list(array.shape),
        "first": array.first,
        "row": array.row,
        "texel": array.texel,
        "got": _bytes(array.got),
        "expected": None if array.expected is None else _bytes(array.expected),
        "wrong": None if array.wrong is None else np.flatnonzero(array.wrong).tolist(),
    }


def _bytes(array: np.ndarray) -> list[str]:
    """The type as NumPy spells it, and the bytes, little-endian."""
    code = array.dtype.str.lstrip("<>|=")
    wide = array.astype("<" + _WIDE.get(code, code))
    return [wide.dtype.str.lstrip("<>|="), base64.b64encode(wide.tobytes()).decode()]
