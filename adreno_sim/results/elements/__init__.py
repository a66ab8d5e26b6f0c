"""The elements of results: which ones a mask has set, and the figures of chunks of them."""
