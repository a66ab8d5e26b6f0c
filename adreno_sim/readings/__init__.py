"""What OpenCL or Qualcomm leaves to a device: each choice as a row of a table, and launches that are run again under each."""
