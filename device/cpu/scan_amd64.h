// Macros of the scan and its gradient. Include after math_amd64.h and go_asm.h.
//
// Eight channels are the eight lanes; the states of a step are a loop. So Σ_i C[i]·h[i] needs no sum across lanes, B[i] and C[i]
// are broadcasts, and a channel's numbers do not depend on which channels stand beside it.
//
// Decays are powers of two, rates being A/ln 2: with x = Δ·rate = n/8 + r, |r| ≤ 1/16, 2ˣ = 2^(n/8)·(1 + r·q(r)). Adding kEighths
// rounds x to eighths and leaves n in the low bits; the low three choose 2^(j/8) from a table, the others are the exponent.
// Table entries have j·2²⁰ taken off, so that adding n·2²⁰ to their bits multiplies by the rest. x is held at −126 and
// must not exceed 127.

K8(kEighths, 0x49c00000) // 1.5·2²⁰
K8(kPowLo, 0xc2fc0000)   // −126
K8(kPow1, 0x3f317219)    // 2ʳ = 1 + r·(kPow1 + kPow2·r + kPow3·r²) within 3e-8 for |r| ≤ 1/16
K8(kPow2, 0x3e760619)
K8(kPow3, 0x3d635002)
K8(kLn2, 0x3f317218)     // ln 2

DATA kRoots<>+0(SB)/4, $0x3f800000
DATA kRoots<>+4(SB)/4, $0x3f7b95c2
DATA kRoots<>+8(SB)/4, $0x3f7837f0
DATA kRoots<>+12(SB)/4, $0x3f75fed7
DATA kRoots<>+16(SB)/4, $0x3f7504f3
DATA kRoots<>+20(SB)/4, $0x3f75672a
DATA kRoots<>+24(SB)/4, $0x3f7744fd
DATA kRoots<>+28(SB)/4, $0x3f7ac0c7
GLOBL kRoots<>(SB), (RODATA|NOPTR), $32

// Y10 … Y15 hold the constants of POWER.
#define POWER_CONSTANTS \
	VMOVUPS kPowLo<>(SB), Y15   \
	VMOVUPS kEighths<>(SB), Y14 \
	VMOVUPS kRoots<>(SB), Y13   \
	VMOVUPS kPow3<>(SB), Y12    \
	VMOVUPS kPow2<>(SB), Y11    \
	VMOVUPS kPow1<>(SB), Y10

// POWER: with x = delta·rate, 2ˣ = base·(1 + more). Destroys s.
#define POWER(rate, delta, base, more, s) \
	VMULPS      rate, delta, s   \
	VMAXPS      Y15, s, s        \
	VADDPS      Y14, s, base     \
	VSUBPS      Y14, base, more  \
	VSUBPS      more, s, s       \
	VMOVAPS     Y12, more        \
	VFMADD213PS Y11, s, more     \
	VFMADD213PS Y10, s, more     \
	VMULPS      s, more, more    \
	VPERMPS     Y13, base, s     \
	VPSLLD      $20, base, base  \
	VPADDD      s, base, base

// AHEAD asks for the same place of the next sequence, which is read by columns of eight and so in an order that the processor
// does not foresee. Destroys DX.
#define AHEAD(p, field) \
	MOVQ       field(DI), DX \
	PREFETCHT0 (p)(DX*1)

// STORE writes the lanes in use of y. Destroys mask and DX.
#define STORE(y, to, mask, some, done) \
	CMPQ       scanLanes_partial(DI), $0 \
	JNE        some                      \
	VMOVUPS    y, to                     \
	JMP        done                      \
some:                                    \
	MOVQ       scanLanes_mask(DI), DX    \
	VMOVUPS    (DX), mask                \
	VMASKMOVPS y, mask, to               \
done:
