"""Tuning with textures: a MetaSchedule space for Adreno, with a Builder and a Runner that check every candidate."""
