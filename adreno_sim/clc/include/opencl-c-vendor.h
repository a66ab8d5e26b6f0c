/* Qualcomm's extensions, as far as the source language sees them: constants and function declarations.
 *
 * A call of one that the simulator does not implement is refused by name when the kernel is built.
 */
#ifndef ADRENO_SIM_OPENCL_C_VENDOR_H
#define ADRENO_SIM_OPENCL_C_VENDOR_H

#ifdef cl_qcom_subgroup_shuffle
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM 0
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W4_QCOM 4
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W8_QCOM 8
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W16_QCOM 16
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W32_QCOM 32
#endif

#endif
