"""What a report keeps of a check besides its words."""
