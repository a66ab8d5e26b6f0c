// Written by coefficients.py; polynomials in Horner form, evaluated in double.
#pragma once

// (2^x - 1) / x on [-0.5, 0.5], error 2^-37.68
INLINE double exp2m1_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.62a1c3a5e6732p-20,
        0x1.00c06c2bc272bp-16),
        0x1.4309b5c116d02p-13),
        0x1.5d87764d22a82p-10),
        0x1.3b2ab693b44eep-7),
        0x1.c6b08da685476p-5),
        0x1.ebfbdff865d50p-3),
        0x1.62e42fef9ce49p-1);
}

// atanh(sqrt x) / sqrt x on [0.0, 0.0294402], error 2^-45.08
INLINE double atanh_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.9194a764b6ebbp-4,
        0x1.c620cebf98d75p-4),
        0x1.2494388261292p-3),
        0x1.9999962b07b5dp-3),
        0x1.5555555671ba2p-2),
        0x1.fffffffffff12p-1);
}

// sin(sqrt x) / sqrt x on [0.0, 0.616912], error 2^-37.68
INLINE double sin_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, 0x1.6cb065bb9a4e1p-19,
        -0x1.a00ec5e37d059p-13),
        0x1.11110716ad825p-7),
        -0x1.55555548e00ddp-3),
        0x1.fffffffff5fafp-1);
}

// cos(sqrt x) on [0.0, 0.616912], error 2^-43.79
INLINE double cos_of(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, -0x1.23b6971d5cd84p-22,
        0x1.a00e3881c7058p-16),
        -0x1.6c16b20792505p-10),
        0x1.555555430ae1ep-5),
        -0x1.ffffffffdfea0p-2),
        0x1.ffffffffffdb0p-1);
}

// asin(sqrt x) / sqrt x on [0.0, 0.25], error 2^-39.91
INLINE double asin_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.0e9f4243d8492p-5,
        0x1.e1fe121a8c921p-10),
        0x1.535a2c21fb833p-6),
        0x1.65fa38e004786p-6),
        0x1.f28bf7fad807bp-6),
        0x1.6db1f2f340de6p-5),
        0x1.333342c7a42eap-4),
        0x1.555555426441ep-3),
        0x1.0000000000f1ap+0);
}

// atan(sqrt x) / sqrt x on [0.0, 0.17159], error 2^-40.28
INLINE double atan_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, -0x1.348c65fb6771fp-5,
        0x1.1dafdbf38b560p-4),
        -0x1.705737dcd2fb8p-4),
        0x1.c6cc5c0245f53p-4),
        -0x1.249092a4aebffp-3),
        0x1.999990511dc2dp-3),
        -0x1.5555554bb2d95p-2),
        0x1.fffffffffe5a3p-1);
}

// erf(sqrt x) / sqrt x on [0.0, 1.0], error 2^-40.12
INLINE double erf_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.1b63f13367d72p-20,
        -0x1.d2489b3ab77dfp-17),
        0x1.f567b81d63f81p-14),
        -0x1.bfdee64c710ecp-11),
        0x1.5658660a4fe92p-8),
        -0x1.b82cb880f6822p-6),
        0x1.ce2f2093b33b0p-4),
        -0x1.812746ada6c0dp-2),
        0x1.20dd750428ac2p+0);
}

// log2(erfc(x)) on [1.0, 4.0], error 2^-34.96
INLINE double log2_erfc(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.0eaccbd22f6ecp-21,
        -0x1.42be4dad9538fp-15),
        0x1.64da129989e2bp-11),
        -0x1.9764cc8b6e705p-8),
        0x1.2c8334697ca69p-5),
        -0x1.4130cf8aeb99ep-3),
        -0x1.d38fc528ba1e9p-1),
        -0x1.a139eecd21fe1p+0),
        0x1.3bcf4e6baf30ap-12);
}

// exp(y^2) erfc(y) (y + 3), y = 3 (1 + x) / (1 - x), on [-0.5, 0.5455], error 2^-38.2
INLINE double scaled_erfc(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.59f310494d5f5p-16,
        0x1.9017c6ae25b63p-14),
        -0x1.1c9e6a478b851p-12),
        -0x1.1db8680b55c57p-11),
        0x1.8d856ed9ca049p-9),
        -0x1.3df0a4fdce257p-10),
        -0x1.b7890d4b88ae5p-6),
        0x1.e995f7cb82fe3p-4),
        -0x1.3deb219cd98fep-2),
        0x1.2e32694151466p-1),
        -0x1.c44c471b1ef99p-1),
        0x1.12f21ddda15bdp+0);
}

// Stirling's rest y r(y) at y = 1 / sqrt x on [0.0, 0.111111], error 2^-42.56
INLINE double stirling_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, -0x1.42e5f7759827bp-8,
        0x1.e76bad1371322p-9),
        -0x1.c2f35ad3b913ep-10),
        0x1.b4a435fb0ed49p-11),
        -0x1.37f481554ccfcp-11),
        0x1.a01999d694724p-11),
        -0x1.6c16c14a6d9fcp-9),
        0x1.55555555551b6p-4);
}

// log(gamma(x)) / (x - 2) on [1.5, 3.0], error 2^-38.0
INLINE double lgamma_over(double x) {
    return FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, FMA(x, 0x1.91235491136b2p-20,
        -0x1.89da99963550fp-15),
        0x1.65dc5ba1bd3e6p-11),
        -0x1.8eed4a587344bp-8),
        0x1.30e0744728474p-5),
        -0x1.52250ee48323fp-3),
        0x1.18e582853dbcfp-1),
        -0x1.639a428906cc9p+0),
        0x1.599b622ed401bp+1),
        -0x1.01f00274c2b7cp+2),
        0x1.2673249b4e54ap+2),
        -0x1.01d0238914b3bp+2),
        0x1.7e3aed721988fp+1),
        -0x1.412df3aedc80dp+0);
}
