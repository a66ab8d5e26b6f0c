"""What a tuning run did."""
