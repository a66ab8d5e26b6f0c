"""A launch file for a kernel that is given only by its source.

kernel_use.py: what the kernel's code says of its launch; guess.py: sizes, arguments and contents by that; text.py: the launch
file with a comment at each guess; trial.py: runs it, and makes what is too small larger.
"""
