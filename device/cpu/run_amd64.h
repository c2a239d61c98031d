// Loops over runs of numbers, eight at a time; the last few go through a mask, so that every number takes the same way.
// Include after textflag.h.

DATA tailMask<>+0(SB)/8, $-1
DATA tailMask<>+8(SB)/8, $-1
DATA tailMask<>+16(SB)/8, $-1
DATA tailMask<>+24(SB)/8, $-1
DATA tailMask<>+32(SB)/8, $0
DATA tailMask<>+40(SB)/8, $0
DATA tailMask<>+48(SB)/8, $0
DATA tailMask<>+56(SB)/8, $0
GLOBL tailMask<>(SB), (RODATA|NOPTR), $64

// TAILMASK sets Y15 to the first CX of eight lanes, 0 < CX < 8; AX and CX are scratch.
#define TAILMASK \
	LEAQ    tailMask<>+32(SB), AX \
	SHLQ    $2, CX                \
	SUBQ    CX, AX                \
	VMOVUPS (AX), Y15

// RUN(f, tail): f for each whole eight of CX numbers, with BX the bytes done so far; then tail for the rest. The function returns.
#define RUN(f, rest) \
	XORQ BX, BX  \
	SUBQ $8, CX  \
	JLT  few     \
eight:           \
	f            \
	ADDQ $32, BX \
	SUBQ $8, CX  \
	JGE  eight   \
few:             \
	ADDQ $8, CX  \
	JZ   done    \
	TAILMASK     \
	rest         \
done:            \
	VZEROUPPER   \
	RET
