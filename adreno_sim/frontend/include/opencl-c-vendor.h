/* Qualcomm's extensions, as far as the source language sees them: constants and function declarations.
 *
 * A call of one that the simulator does not implement is refused by name when the kernel is built.
 */
#ifndef ADRENO_SIM_OPENCL_C_VENDOR_H
#define ADRENO_SIM_OPENCL_C_VENDOR_H

#define ADRENO_SIM_OVERLOAD __attribute__((overloadable, convergent))

#ifdef cl_qcom_subgroup_shuffle
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM 0
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W4_QCOM 4
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W8_QCOM 8
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W16_QCOM 16
#define CLK_SUB_GROUP_SHUFFLE_WIDTH_W32_QCOM 32

#define ADRENO_SIM_SHUFFLES(type)                                                           \
  type ADRENO_SIM_OVERLOAD qcom_sub_group_shuffle_up(type, uint delta, uint width, type);   \
  type ADRENO_SIM_OVERLOAD qcom_sub_group_shuffle_down(type, uint delta, uint width, type); \
  type ADRENO_SIM_OVERLOAD qcom_sub_group_shuffle_xor(type, uint mask, uint width, type);
ADRENO_SIM_SHUFFLES(int)
ADRENO_SIM_SHUFFLES(uint)
ADRENO_SIM_SHUFFLES(long)
ADRENO_SIM_SHUFFLES(ulong)
ADRENO_SIM_SHUFFLES(float)
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
ADRENO_SIM_SHUFFLES(half)
#pragma OPENCL EXTENSION cl_khr_fp16 : disable
#endif
#undef ADRENO_SIM_SHUFFLES
#endif

#ifdef cl_qcom_dot_product8
int ADRENO_SIM_OVERLOAD qcom_dot8_acc(uint, uint, int);
uint ADRENO_SIM_OVERLOAD qcom_udot8_acc(uint, uint, uint);
#endif

#ifdef cl_qcom_subgroup_constant_load
#define QCOM_CLK_CONST_LOAD_SYNC 1
uint ADRENO_SIM_OVERLOAD qcom_get_physical_sub_group_id(void);
void ADRENO_SIM_OVERLOAD qcom_sub_group_sync(uint);
#define ADRENO_SIM_LOAD(type) \
  void ADRENO_SIM_OVERLOAD qcom_sub_group_constant_load8(__constant type *, __constant type *, int, int, int);
ADRENO_SIM_LOAD(float4)
ADRENO_SIM_LOAD(uint4)
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
ADRENO_SIM_LOAD(half8)
#pragma OPENCL EXTENSION cl_khr_fp16 : disable
#endif
#undef ADRENO_SIM_LOAD
#endif

#undef ADRENO_SIM_OVERLOAD

#ifdef cl_qcom_extra_vector_types
typedef char char32 __attribute__((ext_vector_type(32)));
typedef uchar uchar32 __attribute__((ext_vector_type(32)));
typedef short short32 __attribute__((ext_vector_type(32)));
typedef ushort ushort32 __attribute__((ext_vector_type(32)));
typedef int int32 __attribute__((ext_vector_type(32)));
typedef uint uint32 __attribute__((ext_vector_type(32)));
typedef long long32 __attribute__((ext_vector_type(32)));
typedef ulong ulong32 __attribute__((ext_vector_type(32)));
typedef float float32 __attribute__((ext_vector_type(32)));
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half half32 __attribute__((ext_vector_type(32)));
#pragma OPENCL EXTENSION cl_khr_fp16 : disable
#endif
#endif

/* Attributes. The wave size, which __constant argument a sub-group reads from memory, and how many bytes of constant memory it loads
   reach kernel IR as annotations; hints to the scheduler say nothing to a simulator. */
#ifdef cl_qcom_reqd_sub_group_size
#define qcom_reqd_sub_group_size(size) annotate("qcom_reqd_sub_group_size=" size)
#endif
#ifdef cl_qcom_subgroup_uniform_load
#define sub_group_uniform annotate("sub_group_uniform")
#endif
#define max_constant_size(nbytes) annotate("max_constant_size", nbytes)
#define qcom_wave_pair_mode(mode)
#define qcom_max_concurrent_subgroups(count)

/* OpenCL C's own macro for a kernel with hints. */
#define __kernel_exec(X, typen) __kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))
#define kernel_exec(X, typen) __kernel_exec(X, typen)

#endif
