"""Targets: shorthands, whatever TVM makes one of, and the limits of a device profile written into it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from ...base.errors import AdrenoSimError, UnsupportedError
from ...profiles.fields import suggest
from ..tvm_bridge.versions import import_tvm

if TYPE_CHECKING:
    from tvm.target import Target

TargetLike = Union[str, Mapping[str, Any], "Target"]
"""What TVM makes a target of."""

EXAMPLE = '{"kind": "opencl", "device": "adreno"}'

TAGS = {
    "texture": "qcom/adreno-opencl-texture",
    "buffer": "qcom/adreno-opencl",
    "clml": "qcom/adreno-opencl-clml",
}
"""Shorthand -> TVM target tag."""

BOTH = "clml-texture"
"""What OpenCL ML does not take as kernels on textures: TVM has no tag for it, but a target may have both keys."""

BUFFERS_ONLY = ("buffer", "clml", TAGS["buffer"], TAGS["clml"])
"""Names of targets without textures."""

_THREADS = 256
"""max_num_threads of TVM's opencl targets that do not say otherwise."""

LIMIT_ATTRIBUTES = {
    "IMAGE2D_MAX_WIDTH": "texture_spatial_limit",
    "IMAGE_MAX_ARRAY_SIZE": "texture_depth_limit",
    "IMAGE_BASE_ADDRESS_ALIGNMENT": "image_base_address_alignment",
    "LOCAL_MEM_SIZE": "max_shared_memory_per_block",
}
"""OpenCL limit (without CL_DEVICE_) -> attribute of TVM's opencl target that its Adreno passes, schedules and planner read."""


def shorthand(name: str) -> str:
    """ "texture", "buffer", "clml" or "clml-texture" for a shorthand or a tag. AdrenoSimError for anything else."""
    if name == BOTH:
        return name
    for short, tag in TAGS.items():
        if name in (short, tag):
            return short
    close = suggest(name, [*TAGS, BOTH, *TAGS.values()])
    raise AdrenoSimError(
        f"target {name!r}{close}: expected one of {', '.join(TAGS)}, {BOTH} or {', '.join(TAGS.values())}, or a "
        f"description of an OpenCL target that TVM takes, as {EXAMPLE}"
    )


def thread_limit(given: TargetLike) -> int:
    """Returns max_num_threads of a target, without TVM."""
    if isinstance(given, str):
        given = json.loads(given) if _is_json(given) else {}
    attributes = given if isinstance(given, Mapping) else given.attrs
    return int(attributes.get("max_num_threads", _THREADS))


def make_target(given: TargetLike, limits: Mapping[str, Any] | None = None) -> Target:
    """TVM's target for a shorthand, or for whatever TVM makes one of: a tag, a dict, its JSON, a Target.

    `limits` are a device's (`DeviceInfo.limits`): those TVM's target knows replace its defaults, but nothing that a dict or JSON
    states, and nothing of a Target, which is taken unchanged. The thread limit is not among them: TVM's 256 is what its schedules
    are written for, and every Adreno allows it.
    Raises AdrenoSimError for a name or description that TVM does not take, UnsupportedError for a target that is not OpenCL's, as
    TVM's tags for Vulkan.
    """
    tvm = import_tvm()
    if isinstance(given, str) and not _is_json(given):
        return _with_limits(_named(given), limits)
    target = _target_of(given)
    if target.kind.name != "opencl":
        raise UnsupportedError(f"unsupported: a target of kind {target.kind.name}: expected opencl, which devices here run")
    return target if isinstance(given, tvm.target.Target) else _with_limits(target, limits, _described(given))


def target_kind(given: TargetLike) -> tuple[str, tuple[str, ...]]:
    """The kind and the keys of a Target, a dict or its JSON. AdrenoSimError for what TVM does not take."""
    target = _target_of(given)
    return str(target.kind.name), tuple(map(str, target.keys))


def require_target(given: TargetLike) -> None:
    """Raise AdrenoSimError for a name that TVM cannot know either, and for anything but JSON; imports no TVM for it."""
    if isinstance(given, str) and _is_json(given):
        _described(given)
    elif isinstance(given, str) and "/" not in given and given.split()[:1] != ["opencl"]:
        shorthand(given)


def target_text(given: TargetLike) -> str:
    """A target as reports name it: text as it was given, a dict as JSON, a Target by its tag or TVM's text."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return json.dumps(dict(given), default=str)
    return str(getattr(given, "tag", "")) or str(given)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _named(name: str) -> Target:
    """The target of a shorthand, of a tag, or of the name of TVM's kind opencl."""
    tvm = import_tvm()
    if name.split()[0:1] == ["opencl"] and name != "opencl":
        raise AdrenoSimError(
            f"target {name!r}: TVM {tvm.__version__} takes no options in a string; write '{json.dumps(_from_options(name))}'"
        )
    if name not in (*TAGS, BOTH, *TAGS.values()):
        with contextlib.suppress(Exception):  # whatever TVM raises for a name that it does not know
            target = tvm.target.Target(name)
            if target.kind.name == "opencl":
                return target
    short = shorthand(name)
    target = tvm.target.Target(TAGS["clml" if short == BOTH else short])
    return target if short != BOTH else tvm.target.Target({**dict(target.export()), "keys": [*target.keys, "texture"]})


def _target_of(given: TargetLike) -> Target:
    """The target of a dict or its JSON, or a Target."""
    tvm = import_tvm()
    if isinstance(given, tvm.target.Target):
        return given
    described = _described(given)
    try:
        return tvm.target.Target(described)
    except Exception as error:  # TVM raises whatever its C++ and Python layers raise
        said = " ".join(str(error).partition(". Target creation from")[0].split())
        raise AdrenoSimError(f"target {target_text(given)}: TVM does not take it: {said}") from error


def _described(given: Any) -> dict[str, Any]:
    """The dict that a target is given as, by itself or as its JSON. AdrenoSimError for anything else."""
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, str):
        raise AdrenoSimError(f"target {given!r}: expected a name, a dict, its JSON, or a tvm.target.Target")
    try:
        return dict(json.loads(given))
    except ValueError as error:
        raise AdrenoSimError(f"target {given}: expected JSON, as {EXAMPLE}: {error}") from error


def _with_limits(target: Target, limits: Mapping[str, Any] | None, stated: Mapping[str, Any] | None = None) -> Target:
    """The target with a device's limits where nothing else is stated."""
    given = {attr: int(limits[limit]) for limit, attr in LIMIT_ATTRIBUTES.items() if limits and limits.get(limit)}
    given = {attr: value for attr, value in given.items() if attr not in (stated or {})}
    return import_tvm().target.Target({**dict(target.export()), **given}) if given else target


def _from_options(text: str) -> dict[str, Any]:
    """The dict that says what "opencl -device=adreno" said in earlier TVM: lists with commas, numbers as such."""
    kind, *options = text.split()
    found: dict[str, Any] = {"kind": kind}
    for option in options:
        name, _, value = option.lstrip("-").partition("=")
        found[name] = value.split(",") if name in ("keys", "libs", "mattr") else int(value) if value.isdigit() else value or True
    return found
