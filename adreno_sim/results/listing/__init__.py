"""How many things are said in few words."""
