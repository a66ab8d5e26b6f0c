"""Device memory: storages and views over their bytes, and the pools that keep freed memory."""
