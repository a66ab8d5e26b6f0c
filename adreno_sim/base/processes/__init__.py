"""Processes of their own: begun, ended, and what is known of one that crashed; interrupts of this one."""
