"""Sessions: several calls of one compiled module, whose state stays on the device between them."""
