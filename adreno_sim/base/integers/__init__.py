"""Sets of integers that analyses reckon with, and the arithmetic that is sound for them.

A set stands for a value: whatever the value is in some execution, it is in the set. An operation of sets is sound if its result
holds the result of the numbers, for every choice of one number from each operand. All arithmetic is over unbounded integers. Who
uses a set for a value of a type shows that the set fits the type: what does not fit may have wrapped, and is unknown.
`docs/integers.md` has the whole argument.
"""
