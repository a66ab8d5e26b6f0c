"""`adreno-sim prune`: removes from the installed compiler what no program for Linux is compiled with."""
