"""This project's schedule rules for Adreno, and the operators over texels that TVM's operator library lacks."""
