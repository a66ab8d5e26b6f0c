// bit_reverse, bitfield_insert, bitfield_extract_signed and _unsigned (cl_khr_extended_bit_ops).
#include "prelude.h"

INLINE FN ulong choose(bool condition, ulong yes, ulong no) { return condition ? yes : no; }

// The lowest `count` bits of a word of `bits`; a shift by all of them would be one by none.
#define ONES(word, bits, count) choose((count) >= (bits), (word)~(word)0, (word)(((word)1 << ((count) & ((bits) - 1))) - (word)1))

// type: of the functions; word: the unsigned type, of 32 bits or more, in which they compute; bits: of type.
#define BITFIELDS(type, utype, stype, word, bits)                                                  \
    FN type bitfield_insert(type base, type insert, uint offset, uint count) {                     \
        word mask = ONES(word, bits, count) << offset;                                             \
        return (type)(((word)(utype)base & ~mask) | (((word)(utype)insert << offset) & mask));     \
    }                                                                                              \
    FN utype bitfield_extract_unsigned(type base, uint offset, uint count) {                       \
        return (utype)(((word)(utype)base >> offset) & ONES(word, bits, count));                   \
    }                                                                                              \
    FN stype bitfield_extract_signed(type base, uint offset, uint count) {                         \
        word sign = choose(count == 0, (word)0, (word)1 << (count - 1));                           \
        return (stype)(((((word)(utype)base >> offset) & ONES(word, bits, count)) ^ sign) - sign); \
    }
#define BITS(type, utype, word, bits)                                                            \
    FN type bit_reverse(type x) { return (type)__builtin_bitreverse##bits((utype)x); }           \
    FN utype bit_reverse(utype x) { return __builtin_bitreverse##bits(x); }                      \
    BITFIELDS(type, utype, type, word, bits)                                                     \
    BITFIELDS(utype, utype, type, word, bits)

BITS(char, uchar, uint, 8)
BITS(short, ushort, uint, 16)
BITS(int, uint, uint, 32)
BITS(long, ulong, ulong, 64)
