"""Device profiles: what each simulated device is and can do."""
