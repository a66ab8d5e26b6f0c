"""Kernel parameters read from OpenCL C text, for drivers that do not report them.

Intel's CPU runtime answers CL_KERNEL_ARG_INFO_NOT_AVAILABLE for every kernel of a program that also declares a kernel
without defining it. Types hidden behind macros or typedefs are taken for scalars.
"""

from __future__ import annotations

import re

from ...device.protocol import KernelParam

_NOISE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|__attribute__\s*\(\(.*?(?:\)\)|\Z)", re.DOTALL)
"""What has no end goes on to the end of the text, which is then read once and not once for each beginning."""
_PIECE = re.compile(r"([^;{}(]+)\(?")
_KERNEL = re.compile(r"\b(?:__)?kernel\b")
_WORDS = {"const", "restrict", "__restrict", "volatile", "struct", "global", "local", "constant", "private"}
_SPACES = {"__global", "__local", "__constant", "__private"}
_ACCESS = {"read_only": "read_only", "write_only": "write_only", "read_write": "read_write"}


def parse(source: str, name: str) -> list[KernelParam] | None:
    """Parameters of kernel `name`; None if the text has no such kernel."""
    text = _NOISE.sub(" ", source)
    start = next((piece.end() for piece in _PIECE.finditer(text) if piece[0][-1] == "(" and _declares(piece[1], name)), None)
    if start is None:
        return None
    declarations = [part.strip() for part in text[start : text.find(")", start)].split(",")]
    return [_param(declaration) for declaration in declarations if declaration not in ("", "void")]


def _declares(piece: str, name: str) -> bool:
    """Whether the text ahead of a parenthesis ends in the name of a kernel."""
    words = piece.rstrip()
    if not words.endswith(name) or re.match(r"\w", words[-len(name) - 1 : -len(name)]):
        return False
    return _KERNEL.search(words, 0, len(words) - len(name)) is not None


def _param(declaration: str) -> KernelParam:
    words = re.findall(r"\w+|\*", declaration)
    bare = {word.removeprefix("__") for word in words}
    name = words[-1]
    kept = [w for w in words[:-1] if w not in _WORDS | _SPACES and w.removeprefix("__") not in _ACCESS]
    spelled = "".join(f" {w}" if w.isidentifier() and i else w for i, w in enumerate(kept))
    image = next((word for word in words if re.fullmatch(r"image\w*_t", word)), None)
    if image:
        return KernelParam(name, "image", image, next((_ACCESS[word] for word in bare if word in _ACCESS), "read_only"))
    if "sampler_t" in words:
        return KernelParam(name, "sampler", "sampler_t")
    if "*" not in words:
        return KernelParam(name, "scalar", spelled)
    if "local" in bare:
        return KernelParam(name, "local", spelled)
    space = "constant" if "constant" in bare else "global"
    return KernelParam(name, "buffer", spelled, space=space, qualifiers=("const",) if "const" in bare else ())
