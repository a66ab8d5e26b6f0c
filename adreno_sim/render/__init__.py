"""How results are shown: terminal tables, JSON, annotations."""
