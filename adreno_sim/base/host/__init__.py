"""The machine that the simulator runs on: what differs from one processor family to another, a file for each family.

Nothing else in the project names instructions, features or folders of one.
"""
