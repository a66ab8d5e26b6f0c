"""LLVM as text and as machine code: writing modules, running passes, loading object code."""
