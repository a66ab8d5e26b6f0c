"""What commands find, as data: reports, comparisons, snapshots, and their JSON."""
