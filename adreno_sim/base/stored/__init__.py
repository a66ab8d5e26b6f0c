"""Values on disk, in a form that cannot run code: what is read is of the types that its reader names, or refused."""
