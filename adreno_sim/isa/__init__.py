"""Machine code of Adreno GPUs: kernel IR as NIR, compiled by Mesa's ir3 in a child process, and what its figures say."""
