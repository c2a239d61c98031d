#include "textflag.h"
#include "math_amd64.h"
#include "run_amd64.h"
#include "trig_amd64.h"

// Functions of one number and their gradients. In every loop the argument is in Y0 and the result is left there;
// gradients find dy in Y7.

#define MAP(f) \
	MOVQ y_base+0(FP), DI  \
	MOVQ x_base+24(FP), SI \
	MOVQ x_len+32(FP), CX  \
	RUN(MAPEIGHT(f), MAPTAIL(f))

#define MAPEIGHT(f) \
	VMOVUPS (SI)(BX*1), Y0 \
	f                      \
	VMOVUPS Y0, (DI)(BX*1)

#define MAPTAIL(f) \
	VMASKMOVPS (SI)(BX*1), Y15, Y0 \
	f                              \
	VMASKMOVPS Y0, Y15, (DI)(BX*1)

// MAPGRAD reads the argument from s, which is x or y.
#define MAPGRAD(s, n, f) \
	MOVQ dx_base+0(FP), DI  \
	MOVQ s+n(FP), SI        \
	MOVQ dy_base+72(FP), DX \
	MOVQ dy_len+80(FP), CX  \
	RUN(MAPGRADEIGHT(f), MAPGRADTAIL(f))

#define MAPGRADEIGHT(f) \
	VMOVUPS (SI)(BX*1), Y0 \
	VMOVUPS (DX)(BX*1), Y7 \
	f                      \
	VMOVUPS Y0, (DI)(BX*1)

#define MAPGRADTAIL(f) \
	VMASKMOVPS (SI)(BX*1), Y15, Y0 \
	VMASKMOVPS (DX)(BX*1), Y15, Y7 \
	f                              \
	VMASKMOVPS Y0, Y15, (DI)(BX*1)

// NaN and −0 stay what they are.
#define RELU8 \
	VMAXPS Y0, Y1, Y0

// func reluVector(y, x []float32)
TEXT ·reluVector(SB), NOSPLIT, $0-48
	VXORPS Y1, Y1, Y1
	MAP(RELU8)

// func expVector(y, x []float32)
TEXT ·expVector(SB), NOSPLIT, $0-48
	MAP(EXP8(Y0, Y0, Y1, Y2))

// func sigmoidVector(y, x []float32)
TEXT ·sigmoidVector(SB), NOSPLIT, $0-48
	MAP(SIGMOID8(Y0, Y0, Y1, Y2))

// func siluVector(y, x []float32)
TEXT ·siluVector(SB), NOSPLIT, $0-48
	MAP(SILU8(Y0, Y0, Y1, Y2, Y3))

// EXPDOWN8(x, y, r, s, t, u) is y = eˣ for −87 ≤ x ≤ 0: the short form of EXP8, with the same polynomial. Its terms are paired, here
// and below, which shortens the wait for a result.
#define EXPDOWN8(x, y, r, s, t, u) \
	VMOVUPS      kRound<>(SB), s    \
	VFMADD231PS  kLog2e<>(SB), x, s \
	VSUBPS       kRound<>(SB), s, t \
	VFNMADD231PS kLn2Hi<>(SB), t, x \
	VFNMADD231PS kLn2Lo<>(SB), t, x \
	VPSLLD       $23, s, s          \
	VMULPS       x, x, r            \
	VMOVUPS      kExp3<>(SB), t     \
	VMOVUPS      kExp5<>(SB), u     \
	VFMADD213PS  kExp2<>(SB), x, t  \
	VFMADD213PS  kExp4<>(SB), x, u  \
	VADDPS       kOne<>(SB), x, x   \
	VFMADD231PS  kExp6<>(SB), r, u  \
	VFMADD213PS  t, r, u            \
	VFMADD213PS  x, r, u            \
	VPADDD       s, u, y

// Softplus is max(x, 0) + log(1+u) with u = e^−|x|; log(1+u) = u·(1 + kLog1·u + …) for u ≤ 1, relative error 5e-9 before rounding.
K8(kLowest, 0xc2ae0000) // −87
K8(kLog1, 0xbeffffdf)
K8(kLog2, 0x3eaaa640)
K8(kLog3, 0xbe7f87c4)
K8(kLog4, 0x3e497b4c)
K8(kLog5, 0xbe1cbab3)
K8(kLog6, 0x3dd929b5)
K8(kLog7, 0xbd694e6e)
K8(kLog8, 0x3ca29f8f)
K8(kLog9, 0xbb5499c0)

#define SOFTPLUS8 \
	VORPS       kSign<>(SB), Y0, Y1      \
	VMOVUPS     kLowest<>(SB), Y2        \
	VMAXPS      Y1, Y2, Y1               \
	EXPDOWN8(Y1, Y1, Y2, Y3, Y4, Y5)     \
	VMULPS      Y1, Y1, Y2               \
	VMOVUPS     kLog1<>(SB), Y3          \
	VMOVUPS     kLog3<>(SB), Y4          \
	VMOVUPS     kLog5<>(SB), Y5          \
	VMOVUPS     kLog7<>(SB), Y6          \
	VMOVUPS     kLog9<>(SB), Y8          \
	VFMADD213PS kOne<>(SB), Y1, Y3       \
	VFMADD213PS kLog2<>(SB), Y1, Y4      \
	VFMADD213PS kLog4<>(SB), Y1, Y5      \
	VFMADD213PS kLog6<>(SB), Y1, Y6      \
	VFMADD213PS kLog8<>(SB), Y1, Y8      \
	VMULPS      Y2, Y2, Y9               \
	VFMADD231PS Y4, Y2, Y3               \
	VFMADD231PS Y6, Y2, Y5               \
	VFMADD231PS Y8, Y9, Y5               \
	VFMADD231PS Y5, Y9, Y3               \
	VXORPS      Y4, Y4, Y4               \
	VMAXPS      Y0, Y4, Y0               \
	VFMADD231PS Y1, Y3, Y0

// func softplusVector(y, x []float32)
TEXT ·softplusVector(SB), NOSPLIT, $0-48
	MAP(SOFTPLUS8)

// tanh x = (1−u)/(1+u) with u = e^(−2|x|) and the sign of x; near 0 the polynomial of TANH8.
K8(kFortyThree, 0x422c0000)
K8(kMinusTwo, 0xc0000000)

#define TANHMAP8 \
	VMOVUPS     kSign<>(SB), Y1           \
	VANDNPS     Y0, Y1, Y1                \
	VMOVUPS     kFortyThree<>(SB), Y2     \
	VMINPS      Y1, Y2, Y2                \
	VMULPS      kMinusTwo<>(SB), Y2, Y2   \
	EXPDOWN8(Y2, Y2, Y3, Y4, Y5, Y6)      \
	VMOVUPS     kOne<>(SB), Y3            \
	VADDPS      Y2, Y3, Y4                \
	VSUBPS      Y2, Y3, Y3                \
	VDIVPS      Y4, Y3, Y3                \
	VANDPS      kSign<>(SB), Y0, Y4       \
	VORPS       Y4, Y3, Y3                \
	VMULPS      Y0, Y0, Y4                \
	VMULPS      Y4, Y4, Y8                \
	VMOVUPS     kTanh2<>(SB), Y5          \
	VMOVUPS     kTanh4<>(SB), Y6          \
	VFMADD213PS kTanh1<>(SB), Y4, Y5      \
	VFMADD213PS kTanh3<>(SB), Y4, Y6      \
	VFMADD231PS kTanh5<>(SB), Y8, Y6      \
	VFMADD231PS Y6, Y8, Y5                \
	VMULPS      Y0, Y4, Y4                \
	VFMADD213PS Y0, Y4, Y5                \
	VCMPPS      $1, kTanhLim<>(SB), Y1, Y1 \
	VBLENDVPS   Y1, Y5, Y3, Y0

// func tanhVector(y, x []float32)
TEXT ·tanhVector(SB), NOSPLIT, $0-48
	MAP(TANHMAP8)

// GELU. With a = |x|, at most 13, and e = e^(−a²/2), the tail of the normal distribution is
// q = Φ(−a) = e·s·(kTail0 + kTail1·s + …), s = 1/(1 + 0.3·a); relative error 1.1e-7 before rounding.
// Then GELU(x) = max(x, 0) − a·q, and its slope is d = q − a·φ(a) for x < 0 and 1 − d for x > 0.
// e is 2ⁿ·e^(−y/2) with y = a² + 2·ln 2·n, and e^(−y/2) = 1 + kHalf1·y + …, relative error 9e-8.
K8(kThirteen, 0x41500000)
K8(kSlant, 0x3e99999a)     // 0.3
K8(kNormal, 0x3ecc422a)    // 1/√(2π)
K8(kHalfLog2e, 0xbf38aa3b) // −1/(2·ln 2)
K8(kTwoLn2Hi, 0x3fb18000)  // twice kLn2Hi and kLn2Lo
K8(kTwoLn2Lo, 0xb9de8083)
K8(kHalf1, 0xbefffffb)
K8(kHalf2, 0x3dfffee0)
K8(kHalf3, 0xbcaaad3b)
K8(kHalf4, 0x3b2b9e21)
K8(kHalf5, 0xb987d363)
K8(kTail0, 0x3df4fd0b)
K8(kTail1, 0x3df77ddc)
K8(kTail2, 0x3dcb7685)
K8(kTail3, 0x3e058bdd)
K8(kTail4, 0xbd6a281a)
K8(kTail5, 0x3e572936)
K8(kTail6, 0xbe233407)
K8(kTail7, 0x3d144104)

// NORMALSETUP keeps constants in Y11 … Y14.
#define NORMALSETUP \
	VMOVUPS kSign<>(SB), Y11     \
	VMOVUPS kOne<>(SB), Y12      \
	VMOVUPS kRound<>(SB), Y13    \
	VMOVUPS kThirteen<>(SB), Y14

// NORMALTAIL8 leaves a in Y1, e in Y2 and q in Y3 for x in Y0; it destroys Y4 … Y6 and Y8 … Y10.
#define NORMALTAIL8 \
	VANDNPS     Y0, Y11, Y1              \
	VMINPS      Y1, Y14, Y1              \
	VMOVUPS     kSlant<>(SB), Y5         \
	VFMADD213PS Y12, Y1, Y5              \
	VDIVPS      Y5, Y12, Y4              \
	VMULPS      Y1, Y1, Y2               \
	VMOVUPS     kHalfLog2e<>(SB), Y5     \
	VFMADD213PS Y13, Y2, Y5              \
	VSUBPS      Y13, Y5, Y6              \
	VFMADD231PS kTwoLn2Hi<>(SB), Y6, Y2  \
	VFMADD231PS kTwoLn2Lo<>(SB), Y6, Y2  \
	VPSLLD      $23, Y5, Y5              \
	VMULPS      Y2, Y2, Y3               \
	VMOVUPS     kHalf1<>(SB), Y6         \
	VMOVUPS     kHalf3<>(SB), Y8         \
	VMOVUPS     kHalf5<>(SB), Y9         \
	VFMADD213PS Y12, Y2, Y6              \
	VFMADD213PS kHalf2<>(SB), Y2, Y8     \
	VFMADD213PS kHalf4<>(SB), Y2, Y9     \
	VFMADD231PS Y9, Y3, Y8               \
	VFMADD231PS Y8, Y3, Y6               \
	VPADDD      Y5, Y6, Y2               \
	VMULPS      Y4, Y4, Y5               \
	VMOVUPS     kTail1<>(SB), Y3         \
	VMOVUPS     kTail3<>(SB), Y6         \
	VMOVUPS     kTail5<>(SB), Y8         \
	VMOVUPS     kTail7<>(SB), Y9         \
	VFMADD213PS kTail0<>(SB), Y4, Y3     \
	VFMADD213PS kTail2<>(SB), Y4, Y6     \
	VFMADD213PS kTail4<>(SB), Y4, Y8     \
	VFMADD213PS kTail6<>(SB), Y4, Y9     \
	VMULPS      Y5, Y5, Y10              \
	VMULPS      Y2, Y4, Y4               \
	VFMADD231PS Y6, Y5, Y3               \
	VFMADD231PS Y9, Y5, Y8               \
	VFMADD231PS Y8, Y10, Y3              \
	VMULPS      Y4, Y3, Y3

#define GELU8 \
	NORMALTAIL8                  \
	VXORPS       Y4, Y4, Y4      \
	VMAXPS       Y0, Y4, Y0      \
	VFNMADD231PS Y1, Y3, Y0

// func geluVector(y, x []float32)
TEXT ·geluVector(SB), NOSPLIT, $0-48
	NORMALSETUP
	MAP(GELU8)

// func cosVector(y, x []float32) (done int)
// It stops before eight numbers of which one is too large.
TEXT ·cosVector(SB), NOSPLIT, $0-56
	MOVQ y_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	MOVQ $0, done+48(FP)
	XORQ BX, BX
	SUBQ $8, CX
	JLT  few

eight:
	VMOVUPS (SI)(BX*1), Y0
	TRIGCHECK8(Y0, Y1, done)
	VCVTPS2PD (SI)(BX*1), Y2
	VCVTPS2PD 16(SI)(BX*1), Y3
	COS8
	VMOVUPS Y0, (DI)(BX*1)
	ADDQ    $32, BX
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ       $8, CX
	JZ         done
	TAILMASK
	VMASKMOVPS (SI)(BX*1), Y15, Y0
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	COS8
	VMASKMOVPS Y0, Y15, (DI)(BX*1)
	MOVQ       x_len+32(FP), BX
	SHLQ       $2, BX

done:
	SHRQ $2, BX
	MOVQ BX, done+48(FP)
	VZEROUPPER
	RET

// x counts where it is not ≤ 0, NaN included.
#define RELUGRAD8 \
	VCMPPS  $2, Y1, Y0, Y0 \
	VANDNPS Y7, Y0, Y0

// func reluGradVector(dx, x, y, dy []float32)
TEXT ·reluGradVector(SB), NOSPLIT, $0-96
	VXORPS Y1, Y1, Y1
	MAPGRAD(y_base, 48, RELUGRAD8)

#define GELUGRAD8 \
	NORMALTAIL8                         \
	VMULPS       kNormal<>(SB), Y2, Y2  \
	VFNMADD231PS Y1, Y2, Y3             \
	VMOVUPS      kOne<>(SB), Y4         \
	VSUBPS       Y3, Y4, Y4             \
	VBLENDVPS    Y0, Y3, Y4, Y0         \
	VMULPS       Y7, Y0, Y0

// func geluGradVector(dx, x, y, dy []float32)
TEXT ·geluGradVector(SB), NOSPLIT, $0-96
	NORMALSETUP
	MAPGRAD(x_base, 24, GELUGRAD8)

// σ·(1 + x·(1−σ))
#define SILUGRAD8 \
	SIGMOID8(Y0, Y1, Y2, Y3)        \
	VMOVUPS     kOne<>(SB), Y2      \
	VSUBPS      Y1, Y2, Y3          \
	VFMADD213PS Y2, Y3, Y0          \
	VMULPS      Y1, Y0, Y0          \
	VMULPS      Y7, Y0, Y0

// func siluGradVector(dx, x, y, dy []float32)
TEXT ·siluGradVector(SB), NOSPLIT, $0-96
	MAPGRAD(x_base, 24, SILUGRAD8)

#define SIGMOIDGRAD8 \
	VMOVUPS kOne<>(SB), Y1 \
	VSUBPS  Y0, Y1, Y1     \
	VMULPS  Y7, Y0, Y0     \
	VMULPS  Y1, Y0, Y0

// func sigmoidGradVector(dx, x, y, dy []float32)
TEXT ·sigmoidGradVector(SB), NOSPLIT, $0-96
	MAPGRAD(y_base, 48, SIGMOIDGRAD8)

#define TANHGRAD8 \
	VMOVUPS      kOne<>(SB), Y1 \
	VFNMADD231PS Y0, Y0, Y1     \
	VMULPS       Y7, Y1, Y0

// func tanhGradVector(dx, x, y, dy []float32)
TEXT ·tanhGradVector(SB), NOSPLIT, $0-96
	MAPGRAD(y_base, 48, TANHGRAD8)

// σ(20) is 1 in float32.
#define SOFTPLUSGRAD8 \
	SIGMOID8(Y0, Y0, Y1, Y2) \
	VMULPS Y7, Y0, Y0

// func softplusGradVector(dx, x, y, dy []float32)
TEXT ·softplusGradVector(SB), NOSPLIT, $0-96
	MAPGRAD(x_base, 24, SOFTPLUSGRAD8)

// func cosGradVector(dx, x, dy []float32) (done int)
// It stops before eight numbers of which one is too large.
TEXT ·cosGradVector(SB), NOSPLIT, $0-80
	MOVQ dx_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dy_base+48(FP), DX
	MOVQ dy_len+56(FP), CX
	XORQ BX, BX
	SUBQ $8, CX
	JLT  few

eight:
	VMOVUPS (SI)(BX*1), Y0
	TRIGCHECK8(Y0, Y1, done)
	VCVTPS2PD (SI)(BX*1), Y2
	VCVTPS2PD 16(SI)(BX*1), Y3
	SIN8
	VXORPS  kSign<>(SB), Y0, Y0
	VMULPS  (DX)(BX*1), Y0, Y0
	VMOVUPS Y0, (DI)(BX*1)
	ADDQ    $32, BX
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ       $8, CX
	JZ         done
	TAILMASK
	VMASKMOVPS (SI)(BX*1), Y15, Y0
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	SIN8
	VMASKMOVPS (DX)(BX*1), Y15, Y7
	VXORPS     kSign<>(SB), Y0, Y0
	VMULPS     Y7, Y0, Y0
	VMASKMOVPS Y0, Y15, (DI)(BX*1)
	MOVQ       dy_len+56(FP), BX
	SHLQ       $2, BX

done:
	SHRQ $2, BX
	MOVQ BX, done+72(FP)
	VZEROUPPER
	RET
