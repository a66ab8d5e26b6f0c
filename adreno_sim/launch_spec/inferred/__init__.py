"""Launches of a kernel that is given only by its source, meant to find what is wrong with it.

ties.py: which numbers and images the code compares with ids, divides, or steps by; choose.py: work sizes and numbers by that;
needs.py: how much of each argument a launch touches; fit.py: that as a formula of the sizes, without what is one too many;
assumed.py: sizes that the code does not say; spec.py: a launch file by these; run.py: several launches, and the findings of all.
"""
