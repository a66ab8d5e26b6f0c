"""A launch from its TOML file. Each wrong or missing entry is one line: file, table, key, what was expected."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.allow import read_entries
from ..base.bounded_read import read_text
from ..base.errors import AdrenoSimError, OptionError
from ..base.launch_folder import SCHEMA
from ..base.specs import BufferExtent, ImageSpec, Sampler
from ..base.toml_tables import MISSING, EntryError, Table, load_toml
from ..base.trust.table import Input, TakenDevice, require_options, take_device
from ..image.formats import ORDERS
from . import scalars
from .data import Data, read_data
from .entry_lines import EntryPath, find_line
from .expected import ExpectedFinding, read_expected
from .include_folders import add_launch_folders
from .model import (
    ArgumentPlacement,
    ArgumentSpec,
    BufferArgument,
    ImageArgument,
    LaunchSpec,
    LocalArgument,
    NullArgument,
    OutputSpec,
    SamplerArgument,
    ScalarArgument,
)
from .named_files import FileNames
from .reference import read_reference
from .type_names import read_channel_type, read_dtype, read_type, refuse_other_keys
from .values import Settings, fill_in, read_values, with_values

IMAGE_KINDS = ("image1d", "image1d_buffer", "image1d_array", "image2d", "image2d_array", "image3d")
MOST_AXES = 6
MOST_AXES_OF_OUTPUT = 32
ADDRESSING = ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat")


def read_launch(
    path: Path, variant: str = "", settings: Settings | None = None, *, root: Path | None = None, any_folder: bool = False
) -> LaunchSpec:
    """The launch described by `path`, with the keys that [variant.NAME] replaces where `variant` names one, and with `settings`
    instead of [values] of these names.

    root: the folder below which the file may name others; None = its own. any_folder: -I may name any folder. Raises
    AdrenoSimError with one line where the file cannot be read, or an entry is missing, wrong or unknown.
    """
    data = load_toml(path)
    try:
        return _read_variant(data, path, variant, settings, root=root, any_folder=any_folder)
    except EntryError as error:
        raise AdrenoSimError(f"{error}{_say_line(path, data, variant, error.entry)}") from None


def _say_line(path: Path, data: dict[str, Any], variant: str, entry: EntryPath) -> str:
    """The line of an entry in the file, for the end of an error; "" if it is not known. A pipe cannot be read again."""
    variants = data.get("variant")
    replaced = variants.get(variant) if isinstance(variants, dict) else None
    if isinstance(replaced, dict) and entry[0] in replaced:
        entry = ("variant", variant, *entry)
    with contextlib.suppress(OSError, UnicodeDecodeError, RecursionError):  # the file was there a moment ago
        line = find_line(read_text(path), entry) if path.is_file() else None
        return "" if line is None else f" (at line {line})"
    return ""


def _read_variant(data: dict[str, Any], path: Path, variant: str, settings: Settings | None, **folders: Any) -> LaunchSpec:
    variants = Table(data, path).table("variant")
    chosen = {name: variants.table(name) for name in variants.names()}
    if variant and variant not in chosen:
        raise AdrenoSimError(f"{path}: no variant {variant!r}; there are: {', '.join(chosen) or 'none'}")
    merged = {key: value for key, value in data.items() if key != "variant"}
    if variant:
        merged |= data["variant"][variant]
    return read_tables(merged, path, settings, **folders)


def read_tables(
    data: dict[str, Any],
    path: Path,
    settings: Settings | None = None,
    *,
    root: Path | None = None,
    any_folder: bool = False,
) -> LaunchSpec:
    """The launch that the tables of the file `path` describe. Errors and arguments as of `read_launch`."""
    files = FileNames(path.parent, root or path.parent)
    values = read_values(data, path, settings or {})
    table = with_values(data, path, values)
    table.text("schema", SCHEMA, choices=(SCHEMA,))
    table.table("values")
    source = table.text("source", None)
    arguments = table.tables("argument")
    storages = _storages(table.table("storage"))
    read = tuple(_argument(entry, files, storages) for entry in arguments)
    device = _device(table, path.parent)
    spec = LaunchSpec(
        file=path,
        source=None if source is None else files.find(table, "source", source),
        kernel=table.text("kernel", ""),
        options=_options(table, values, files, any_folder),
        device=device.text,
        run={**device.options, **_run(table.table("run"))},
        global_size=table.wholes("global_size"),
        local_size=table.wholes("local_size", None),
        global_offset=table.wholes("global_offset", None),
        arguments=read,
        storages=storages,
        outputs=tuple(_output(entry, files, read) for entry in table.tables("output")),
        findings=_findings(table),
        refused=table.text("refused", ""),
        allow=tuple(read_entries(table)),
        values=values,
        reference=read_reference(table, files),
        below=files.root,
    )
    table.finish()
    return spec


def _findings(table: Table) -> tuple[ExpectedFinding, ...] | None:
    entries = table.tables("finding")
    return tuple(map(read_expected, entries)) if "finding" in table else None


def _storages(table: Table) -> dict[str, int]:
    """[storage.NAME] nbytes = N."""
    storages = {}
    for name in table.names():
        entry = table.table(name)
        storages[name] = entry.whole("nbytes", least=1)
        entry.finish()
    return storages


def _options(table: Table, values: dict[str, int], files: FileNames, any_folder: bool) -> str:
    """`options`: build options, with the folders of -I where they are."""
    text = fill_in(table.text("options", ""), values, table, "options")
    try:
        return add_launch_folders(text, files.folder, None if any_folder else files.root)
    except OptionError as error:
        raise table.error("options", error.reason) from None


def _device(table: Table, folder: Path) -> TakenDevice:
    """`device`: a simulated one, "" if none is named."""
    text = table.text("device", "")
    if not text:
        return TakenDevice({}, {}, "")
    try:
        found = take_device(Input.LAUNCH, text, folder)
        found.require_all()
    except AdrenoSimError as error:
        raise table.error("device", str(error)) from None
    return found


def _run(table: Table) -> dict[str, Any]:
    """[run]: RunOptions by name, those that a launch file may set."""
    options = {key: table.get(key, None, "an option") for key in table.names()}
    try:
        return require_options(Input.LAUNCH, options)
    except AdrenoSimError as error:
        raise AdrenoSimError(f"{table.file}: {table.name}: {error}") from None


def _argument(table: Table, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    kind = table.text("kind", choices=tuple(_READERS))
    name = table.text("name", "")
    if name:
        table.name += f" ({name})"
    argument = _READERS[kind](table, kind, name, files, storages)
    table.finish()
    return argument


def _buffer(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    refuse_other_keys(table, "dtype", "the elements of a buffer have a type by its name in NumPy")
    data = read_data(table, "data", files, "unwritten")
    needed = data.fill not in ("values", "file")
    count = table.whole("count", MISSING if needed else None, least=1)
    dtype = read_dtype(table)
    extent, undefined = _buffer_extent(table, np.dtype(dtype).itemsize), _undefined(table, files)
    return BufferArgument(dtype, count, data, _placement(table, storages), name, extent, undefined)


def _undefined(table: Table, files: FileNames) -> Data | None:
    """`undefined`: a file with the undefined bits of each byte; None if there is none."""
    if "undefined" not in table:
        return None
    data = read_data(table, "undefined", files)
    if data.fill not in ("values", "file"):
        table.fail_expected("undefined", "a file of bytes: the undefined bits of each byte of the argument")
    return data


def _buffer_extent(table: Table, itemsize: int) -> BufferExtent | None:
    """`extent`: shape in elements; strides and offset in bytes."""
    if "extent" not in table:
        return None
    entry = table.table("extent")
    axes = tuple(range(1, MOST_AXES + 1))
    shape, strides = entry.wholes("shape", least=1, lengths=axes), entry.wholes("strides", (), least=1, lengths=axes)
    try:
        extent = BufferExtent.of_tensor(shape, itemsize, strides, entry.whole("offset", 0))
    except OptionError as error:
        raise entry.error(error.option, error.reason) from None
    entry.finish()
    return extent


def _image_extent(table: Table, deep: str | None, whole: ImageSpec) -> tuple[int, int, int] | None:
    """`extent`: width, height and depth or layers in texels; as many as the image has where one is left out."""
    if "extent" not in table:
        return None
    entry = table.table("extent")
    layers = entry.whole(deep, whole.depth_or_layers, least=1) if deep else 1
    extent = entry.whole("width", whole.width, least=1), entry.whole("height", whole.height, least=1), layers
    entry.finish()
    return extent


def _image(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    refuse_other_keys(table, "channel_type", "the texels of an image have an `order`, and a type by its name in OpenCL")
    flat = kind in ("image1d", "image1d_buffer", "image1d_array")
    deep = {"image3d": "depth", "image2d_array": "layers", "image1d_array": "layers"}.get(kind)
    spec = ImageSpec(
        kind,
        width=table.whole("width", least=1),
        height=1 if flat else table.whole("height", least=1),
        depth_or_layers=table.whole(deep, least=1) if deep else 1,
        order=table.text("order", "RGBA", choices=tuple(ORDERS)),
        channel_type=read_channel_type(table),
        row_pitch=table.whole("row_pitch", None, least=1),
        slice_pitch=table.whole("slice_pitch", None, least=1),
    )
    try:
        spec = replace(spec, extent=_image_extent(table, deep, spec))
    except OptionError as error:
        raise table.error(error.option, error.reason) from None
    return ImageArgument(
        spec, read_data(table, "data", files, "unwritten"), _placement(table, storages), name, _undefined(table, files)
    )


def _placement(table: Table, storages: dict[str, int]) -> ArgumentPlacement:
    storage = table.text("storage", "")
    if storage and storage not in storages:
        table.fail_expected("storage", f"one of the [storage.NAME] tables ({', '.join(storages) or 'there are none'})")
    if "offset" in table and not storage:
        raise table.error("offset", "only an argument with a storage has an offset")
    return ArgumentPlacement(storage, table.whole("offset", 0))


def _scalar(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    refuse_other_keys(table, "type", "a scalar has a type of OpenCL C")
    type = read_type(table)
    value = table.compute("value", MISSING, "a number, or a list of numbers")
    wrong = scalars.value_error(type, value) if type else ""
    if wrong:
        raise table.error("value", wrong)
    return ScalarArgument(value, type, name)


def _local(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    return LocalArgument(table.whole("nbytes", least=0), name)


def _sampler(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    sampler = Sampler(
        normalized=table.flag("normalized", False),
        addressing=table.text("addressing", "clamp_to_edge", choices=ADDRESSING),
        filter=table.text("filter", "nearest", choices=("nearest", "linear")),
    )
    return SamplerArgument(sampler, name)


def _null(table: Table, kind: str, name: str, files: FileNames, storages: dict[str, int]) -> ArgumentSpec:
    return NullArgument(name)


_READERS: dict[str, Callable[[Table, str, str, FileNames, dict[str, int]], ArgumentSpec]] = {
    "buffer": _buffer,
    **dict.fromkeys(IMAGE_KINDS, _image),
    "scalar": _scalar,
    "local": _local,
    "sampler": _sampler,
    "null": _null,
}


def _output(table: Table, files: FileNames, arguments: tuple[ArgumentSpec, ...]) -> OutputSpec:
    position = _position(table, arguments)
    data = read_data(table, "data", files)
    if data.fill == "unwritten":
        table.fail_expected("data", "what the argument holds after the launch")
    tolerance = table.number("tolerance", None, least=0)
    shape = table.wholes("shape", (), least=1, lengths=range(1, MOST_AXES_OF_OUTPUT + 1))
    element = table.wholes("element", (), lengths=(max(1, len(shape)),))
    if element and shape and not all(at < side for at, side in zip(element, shape, strict=True)):
        table.fail_expected("element", f"an index of the shape {list(shape)}")
    table.finish()
    return OutputSpec(position, data, tolerance, shape, element)


def _position(table: Table, arguments: tuple[ArgumentSpec, ...]) -> int:
    """`argument`: a buffer or image by name, or by position from 0."""
    named = {argument.name: index for index, argument in enumerate(arguments) if argument.name}
    what = f"an argument's name ({', '.join(named) or 'none has one'}) or its position, 0 to {len(arguments) - 1}"
    value = table.get("argument", MISSING, what)
    position = named.get(value, -1) if isinstance(value, str) else value
    if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < len(arguments):
        table.fail_expected("argument", what)
    if not isinstance(arguments[position], (BufferArgument, ImageArgument)):
        table.fail_expected("argument", "a buffer or an image")
    return position
