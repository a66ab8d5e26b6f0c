"""Options of commands about programs of OpenCL and their recordings."""
