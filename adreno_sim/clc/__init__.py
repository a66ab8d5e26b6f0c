"""OpenCL C to kernel IR: clang driver, base header, built-in names, IR reader, diagnostics."""
