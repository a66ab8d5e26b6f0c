"""What everything here rests on and that rests on nothing: errors, specifications, options, files, the cache on disk."""
