"""`adreno-sim explain`: what the kinds of findings mean."""
