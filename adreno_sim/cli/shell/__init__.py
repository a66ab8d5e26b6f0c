"""What the command line is to those who type it: help, words that were meant, completion, defaults of a project."""
