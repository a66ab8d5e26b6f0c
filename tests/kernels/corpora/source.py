"""A source file of a corpus with one set of build options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """name: corpus, file and variant, as "opencv/core/flip.cl#2". text: the OpenCL C. options: as a host program gives them."""

    name: str
    text: str
    options: str

    @property
    def corpus(self) -> str:
        return self.name.partition("/")[0]
