"""OpenCL ML (cl_qcom_ml_ops), simulated: graphs of operators in the JSON of TVM's runtime, and what runs them.

The facts about the extension come from TVM's runtime and the RFC that proposed it; where those leave something open
(the layout of an OPTIMAL tensor, sizes, speeds) the choice is this project's, and says so.
"""
