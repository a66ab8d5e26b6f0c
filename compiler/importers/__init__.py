"""Models as users have them to Relax modules with inputs."""
