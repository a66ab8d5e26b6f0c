"""How many things are told in few words."""
