"""The order between commands that OpenCL promises, and commands on the same memory that it leaves unordered."""
