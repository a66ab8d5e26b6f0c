"""The simulated device: `sim:PROFILE[,key=value...]`. `open.py` opens it."""
