"""`adreno-sim kernel FILE.cl` without a launch file."""
