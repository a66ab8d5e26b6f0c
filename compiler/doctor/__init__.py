"""Which of the known defects of TVM's Adreno path the installed TVM has, and whether the fixes hold."""
