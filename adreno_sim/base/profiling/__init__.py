"""Where this program's own time goes: `--profile-self`."""
