#ifdef CLEAN
#define NIBBLE uint
#else
#define NIBBLE uchar
#endif
__kernel void pack(__global const uchar *codes, __global uchar *packed) {
    int i = get_global_id(0);
    NIBBLE low = codes[2 * i] & 0x0F, high = codes[2 * i + 1] & 0x0F;
    packed[i] = (uchar)(low | (high << 4));
}
