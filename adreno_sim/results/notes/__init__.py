"""What is added to findings before they are reported."""
