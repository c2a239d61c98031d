// Eight-lane float32 functions for the vector kernels of this package, as macros over YMM registers.
//
// Include after textflag.h. Every macro names its argument, its result and the scratch registers it destroys; all must be
// different registers, except that argument and result may be the same one. Constants lie in memory, so no register has to
// be set up in advance.
//
//	EXP8(x, y, s, t)          y = eˣ for any x: denormal results, 0, +Inf and NaN included; relative error under 1.5e-7
//	SIGMOID8(x, y, s, t)      y = 1/(1+e⁻ˣ)
//	SILU8(x, y, s, t, z)      y = x/(1+e⁻ˣ)
//	TANH8(x, y, s, t, z)      y = tanh x; relative error under 4e-7, also near 0
//	HSUM8(y, ylow, s, slow)   lane 0 of ylow = the sum of y's lanes, pairs 4 apart first; ylow, slow are the X names of y, s

#define K8(name, bits) \
	DATA name<>+0(SB)/4, $bits  \
	DATA name<>+4(SB)/4, $bits  \
	DATA name<>+8(SB)/4, $bits  \
	DATA name<>+12(SB)/4, $bits \
	DATA name<>+16(SB)/4, $bits \
	DATA name<>+20(SB)/4, $bits \
	DATA name<>+24(SB)/4, $bits \
	DATA name<>+28(SB)/4, $bits \
	GLOBL name<>(SB), (RODATA|NOPTR), $32

K8(kOne, 0x3f800000)    // 1
K8(kTwo, 0x40000000)    // 2
K8(kSign, 0x80000000)   // the sign bit
K8(kRound, 0x4b400000)  // 1.5·2²³: adding it rounds to an integer, which is then in the low bits
K8(kExpHi, 0x42b20000)  // 89: e⁸⁹ is infinite in float32
K8(kExpLo, 0xc2d00000)  // −104: e⁻¹⁰⁴ is 0 in float32
K8(kLog2e, 0x3fb8aa3b)  // 1/ln 2
K8(kLn2Hi, 0x3f318000)  // ln 2 to 9 bits: its product with a whole number below 2¹⁵ is exact
K8(kLn2Lo, 0xb95e8083)  // the rest of ln 2
K8(kExp2, 0x3efffffe)   // eʳ = 1 + r + r²·(kExp2 + kExp3·r + …), |r| ≤ ln 2 / 2
K8(kExp3, 0x3e2aaa49)
K8(kExp4, 0x3d2aac79)
K8(kExp5, 0x3c091cea)
K8(kExp6, 0x3ab51226)
K8(kTanhLim, 0x3f0ccccd) // 0.55: below it tanh x = x + x·x²·(kTanh1 + kTanh2·x² + …), above it 1 − 2/(1+e²ˣ)
K8(kTanh1, 0xbeaaaaa6)
K8(kTanh2, 0x3e0886ad)
K8(kTanh3, 0xbd5c938c)
K8(kTanh4, 0x3cac7d39)
K8(kTanh5, 0xbbcc6f3b)

// The scale 2ⁿ is applied in two halves, so that n may leave the range of the exponent on both sides. The limits are the
// first operands of min and max, which return the second one when it is NaN.
#define EXP8(x, y, s, t) \
	VMOVUPS      kExpHi<>(SB), s    \
	VMINPS       x, s, y            \
	VMOVUPS      kExpLo<>(SB), s    \
	VMAXPS       y, s, y            \
	VMOVUPS      kRound<>(SB), s    \
	VFMADD231PS  kLog2e<>(SB), y, s \
	VSUBPS       kRound<>(SB), s, t \
	VFNMADD231PS kLn2Hi<>(SB), t, y \
	VFNMADD231PS kLn2Lo<>(SB), t, y \
	VMOVUPS      kExp6<>(SB), t     \
	VFMADD213PS  kExp5<>(SB), y, t  \
	VFMADD213PS  kExp4<>(SB), y, t  \
	VFMADD213PS  kExp3<>(SB), y, t  \
	VFMADD213PS  kExp2<>(SB), y, t  \
	VMULPS       y, t, t            \
	VFMADD213PS  y, y, t            \
	VADDPS       kOne<>(SB), t, t   \
	VPSUBD       kRound<>(SB), s, s \
	VPSRAD       $1, s, y           \
	VPSUBD       y, s, s            \
	VPSLLD       $23, y, y          \
	VPSLLD       $23, s, s          \
	VPADDD       kOne<>(SB), y, y   \
	VPADDD       kOne<>(SB), s, s   \
	VMULPS       t, y, y            \
	VMULPS       y, s, y

#define SIGMOID8(x, y, s, t) \
	VXORPS  kSign<>(SB), x, y \
	EXP8(y, y, s, t)          \
	VMOVUPS kOne<>(SB), s     \
	VADDPS  y, s, y           \
	VDIVPS  y, s, y

#define SILU8(x, y, s, t, z) \
	VXORPS kSign<>(SB), x, z \
	EXP8(z, z, s, t)         \
	VADDPS kOne<>(SB), z, z  \
	VDIVPS z, x, y

#define TANH8(x, y, s, t, z) \
	VADDPS      x, x, z             \
	EXP8(z, z, s, t)                \
	VADDPS      kOne<>(SB), z, z    \
	VMOVUPS     kTwo<>(SB), s       \
	VDIVPS      z, s, z             \
	VMOVUPS     kOne<>(SB), s       \
	VSUBPS      z, s, z             \
	VMULPS      x, x, s             \
	VMOVUPS     kTanh5<>(SB), t     \
	VFMADD213PS kTanh4<>(SB), s, t  \
	VFMADD213PS kTanh3<>(SB), s, t  \
	VFMADD213PS kTanh2<>(SB), s, t  \
	VFMADD213PS kTanh1<>(SB), s, t  \
	VMULPS      s, t, t             \
	VFMADD213PS x, x, t             \
	VMOVUPS     kSign<>(SB), s      \
	VANDNPS     x, s, s             \
	VCMPPS      $1, kTanhLim<>(SB), s, s \
	VBLENDVPS   s, t, z, y

#define HSUM8(y, ylow, s, slow) \
	VEXTRACTF128 $1, y, slow    \
	VADDPS       slow, ylow, ylow \
	VMOVHLPS     ylow, ylow, slow \
	VADDPS       slow, ylow, ylow \
	VMOVSHDUP    ylow, slow     \
	VADDSS       slow, ylow, ylow
