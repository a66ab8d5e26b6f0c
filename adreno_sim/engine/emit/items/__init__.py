"""Around the code of a work-item: the loops over a group's work-items, and where they leave."""
