"""What blur.cl should compute."""

import numpy as np


def blur(x):
    """The mean of each element and its neighbours, the row going on with its last elements at both ends."""
    wide = np.pad(x.astype(np.float64), 1, mode="edge")
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3
