"""The emitters of instructions and built-in functions, a file for each family. Importing this package registers them all."""

from . import (
    arith,
    atomics,
    ballots,
    conversions,
    dot_products,
    floats,
    images,
    integers,
    library_calls,
    printf,
    relations,
    vectors,
    work_item_queries,
)

__all__ = [
    "arith",
    "atomics",
    "ballots",
    "conversions",
    "dot_products",
    "floats",
    "images",
    "integers",
    "library_calls",
    "printf",
    "relations",
    "vectors",
    "work_item_queries",
]
