"""Devices and profiles."""
