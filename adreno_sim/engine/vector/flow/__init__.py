"""Control flow in vectors: uniform branches and loops stay, divergent ones become masked code."""
