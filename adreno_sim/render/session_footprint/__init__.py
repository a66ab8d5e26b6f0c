"""What a module with several functions takes of a device's memory, as text, Markdown and a page."""
