"""Which operator of a model the compiler under test fails on."""
