"""The emitters of instructions and built-in functions, a file for each family. Importing this package registers them all."""

from . import (  # noqa: F401
    arith,
    atomics,
    conversions,
    dot_products,
    floats,
    images,
    integers,
    library_calls,
    printf,
    relations,
    unsupported,
    vectors,
)
