"""What a module of a kernel says besides its text: the tables that give its reports a meaning."""
