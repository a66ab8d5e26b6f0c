"""Tuning folders, and their best schedules in a model."""
