"""Kernels of tuning records, rebuilt, counted, and compared with their measured times (`adreno_time.py`)."""
