"""Placement of rectangles of fixed time, lowest peak wanted: heuristics and search in machine code."""
