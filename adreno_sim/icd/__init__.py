"""The simulated device as an OpenCL driver: any program that loads libOpenCL runs on it, unmodified."""
