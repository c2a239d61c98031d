// Eight-lane float32 cosine and sine, as macros over YMM registers; include after math_amd64.h.
//
// The argument is reduced in float64: n = round(x·2/π) and r = x − n·π/2 with π/2 in two parts and fused multiply-adds, which
// leaves r right to 1e-16 for |x| < 2⁴⁸. So float32 arguments of 1e10 lose nothing. r is then rounded to float32 and two
// polynomials give cos r and sin r; the two low bits of n choose between them and the sign. Results are within 1.2 units
// in the last place.

#define K4D(name, bits) \
	DATA name<>+0(SB)/8, $bits  \
	DATA name<>+8(SB)/8, $bits  \
	DATA name<>+16(SB)/8, $bits \
	DATA name<>+24(SB)/8, $bits \
	GLOBL name<>(SB), (RODATA|NOPTR), $32

K4D(kTwoOverPi, 0x3fe45f306dc9c883)
K4D(kHalfPiHi, 0x3ff921fb54442d18)
K4D(kHalfPiLo, 0x3c91a62633145c07)
K4D(kRoundD, 0x4338000000000000)  // 1.5·2⁵²: adding it rounds to an integer, which is then in the low bits
K8(kTrigLim, 0x57800000)          // 2⁴⁸
K8(kMinusHalf, 0xbf000000)
K8(kCos4, 0x3d2aaaa5)             // cos r = 1 − r²/2 + r⁴·(kCos4 + kCos6·r² + kCos8·r⁴)
K8(kCos6, 0xbab60616)
K8(kCos8, 0x37ccf495)
K8(kSin3, 0xbe2aaaa3)             // sin r = r + r³·(kSin3 + kSin5·r² + kSin7·r⁴)
K8(kSin5, 0x3c08839a)
K8(kSin7, 0xb94ca09a)
K8(kIntOne, 1)

// TRIGCHECK8(x, s, far) goes to far unless all |x| < 2⁴⁸; AX and s are scratch.
#define TRIGCHECK8(x, s, far) \
	VMOVUPS   kSign<>(SB), s          \
	VANDNPS   x, s, s                 \
	VCMPPS    $1, kTrigLim<>(SB), s, s \
	VMOVMSKPS s, AX                   \
	CMPL      AX, $0xff               \
	JNE       far

// WIDEN8 puts the numbers of Y0 into Y2 and Y3 as float64.
#define WIDEN8 \
	VEXTRACTF128 $1, Y0, X3 \
	VCVTPS2PD    X0, Y2     \
	VCVTPS2PD    X3, Y3

// TRIG8 leaves cos r in Y3, sin r in Y4 and n in Y1 for the arguments in Y2 and Y3; it destroys Y0 … Y6. As in the other
// polynomials here terms are paired, which shortens the wait for a result.
#define TRIG8 \
	VMOVUPD      kRoundD<>(SB), Y4       \
	VMOVUPD      Y4, Y5                  \
	VFMADD231PD  kTwoOverPi<>(SB), Y2, Y4 \
	VFMADD231PD  kTwoOverPi<>(SB), Y3, Y5 \
	VSHUFPS      $0x88, Y5, Y4, Y1       \
	VPERMPD      $0xd8, Y1, Y1           \
	VSUBPD       kRoundD<>(SB), Y4, Y4   \
	VSUBPD       kRoundD<>(SB), Y5, Y5   \
	VFNMADD231PD kHalfPiHi<>(SB), Y4, Y2 \
	VFNMADD231PD kHalfPiHi<>(SB), Y5, Y3 \
	VFNMADD231PD kHalfPiLo<>(SB), Y4, Y2 \
	VFNMADD231PD kHalfPiLo<>(SB), Y5, Y3 \
	VCVTPD2PSY   Y2, X0                  \
	VCVTPD2PSY   Y3, X2                  \
	VINSERTF128  $1, X2, Y0, Y0          \
	VMULPS       Y0, Y0, Y2              \
	VMOVUPS      kCos6<>(SB), Y3         \
	VMOVUPS      kSin5<>(SB), Y4         \
	VMOVUPS      kOne<>(SB), Y6          \
	VMULPS       Y2, Y2, Y5              \
	VFMADD213PS  kCos4<>(SB), Y2, Y3     \
	VFMADD213PS  kSin3<>(SB), Y2, Y4     \
	VFMADD231PS  kMinusHalf<>(SB), Y2, Y6 \
	VFMADD231PS  kCos8<>(SB), Y5, Y3     \
	VFMADD231PS  kSin7<>(SB), Y5, Y4     \
	VMULPS       Y0, Y2, Y2              \
	VFMADD213PS  Y6, Y5, Y3              \
	VFMADD213PS  Y0, Y2, Y4

// COS8 and SIN8 put the cosines or sines of Y2 and Y3 into Y0; they destroy Y1 … Y6.
#define COS8 \
	TRIG8                           \
	VPSLLD    $31, Y1, Y2           \
	VBLENDVPS Y2, Y4, Y3, Y0        \
	VPADDD    kIntOne<>(SB), Y1, Y1 \
	VPSLLD    $30, Y1, Y1           \
	VANDPS    kSign<>(SB), Y1, Y1   \
	VXORPS    Y1, Y0, Y0

#define SIN8 \
	TRIG8                         \
	VPSLLD    $31, Y1, Y2         \
	VBLENDVPS Y2, Y3, Y4, Y0      \
	VPSLLD    $30, Y1, Y1         \
	VANDPS    kSign<>(SB), Y1, Y1 \
	VXORPS    Y1, Y0, Y0
