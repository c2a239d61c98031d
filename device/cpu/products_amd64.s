#include "textflag.h"
#include "math_amd64.h"

K8(kLog126, 0x0000007e)  // what the exponent of a number in [½, 1) is stored as
K8(kLogBits, 0x007fffff) // the mantissa
K8(kLogHalf, 0x3f000000) // ½
K8(kLogRoot, 0x3f3504f3) // √½
K8(kLogLn2, 0x3f317218)
K8(kLog3, 0x3eaaaaab) // 1/3 …
K8(kLog5, 0x3e4ccccd)
K8(kLog7, 0x3e124925)
K8(kLog9, 0x3de38e39)
K8(kLog11, 0x3dba2e8c)

// PRODUCTS adds eight products of what lies in Y8 to Y13.
#define PRODUCTS \
	VFMADD231PS Y10, Y8, Y0 \
	VFMADD231PS Y11, Y8, Y1 \
	VFMADD231PS Y12, Y8, Y2 \
	VFMADD231PS Y13, Y8, Y3 \
	VFMADD231PS Y10, Y9, Y4 \
	VFMADD231PS Y11, Y9, Y5 \
	VFMADD231PS Y12, Y9, Y6 \
	VFMADD231PS Y13, Y9, Y7

// func productDots(a *productDotArgs)
//
// Two vectors against four: sum[4·i+j] = x[i]·y[j].
TEXT ·productDots(SB), NOSPLIT, $0-8
	MOVQ   a+0(FP), AX
	MOVQ   0(AX), SI
	MOVQ   8(AX), DI
	MOVQ   16(AX), R8
	MOVQ   24(AX), R9
	MOVQ   32(AX), R10
	MOVQ   40(AX), R11
	MOVQ   48(AX), CX
	MOVQ   56(AX), R12
	MOVQ   64(AX), DX
	MOVQ   72(AX), R13
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	XORQ   BX, BX
	CMPQ   BX, CX
	JGE    tail

eight:
	VMOVUPS (SI)(BX*1), Y8
	VMOVUPS (DI)(BX*1), Y9
	VMOVUPS (R8)(BX*1), Y10
	VMOVUPS (R9)(BX*1), Y11
	VMOVUPS (R10)(BX*1), Y12
	VMOVUPS (R11)(BX*1), Y13
	PRODUCTS
	ADDQ    $32, BX
	CMPQ    BX, CX
	JLT     eight

tail:
	TESTQ      R12, R12
	JZ         fold
	VMOVUPS    (DX), Y15
	VMASKMOVPS (SI)(BX*1), Y15, Y8
	VMASKMOVPS (DI)(BX*1), Y15, Y9
	VMASKMOVPS (R8)(BX*1), Y15, Y10
	VMASKMOVPS (R9)(BX*1), Y15, Y11
	VMASKMOVPS (R10)(BX*1), Y15, Y12
	VMASKMOVPS (R11)(BX*1), Y15, Y13
	PRODUCTS

fold:
	VHADDPS    Y1, Y0, Y0
	VHADDPS    Y3, Y2, Y2
	VHADDPS    Y5, Y4, Y4
	VHADDPS    Y7, Y6, Y6
	VHADDPS    Y2, Y0, Y0         // of each half: x0·y0 … x0·y3
	VHADDPS    Y6, Y4, Y4
	VPERM2F128 $0x20, Y4, Y0, Y1
	VPERM2F128 $0x31, Y4, Y0, Y2
	VADDPS     Y2, Y1, Y1
	VMOVUPS    Y1, (R13)
	VZEROUPPER
	RET

// func productLogs(y, factor *float32, n int)
//
// y ← log(1 + max(0, y·factor)) of n numbers, a multiple of 8. 1 + x = 2ᵏ·m with m in [√½, √2), and
// log m = 2·(z + z³/3 + …) with z = (m−1)/(m+1).
TEXT ·productLogs(SB), NOSPLIT, $0-24
	MOVQ y+0(FP), DI
	MOVQ factor+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ BX, BX
	SHLQ $2, CX

eight:
	VXORPS       Y15, Y15, Y15
	VMOVUPS      (DI)(BX*1), Y0
	VMULPS       (SI)(BX*1), Y0, Y0
	VMAXPS       Y15, Y0, Y0
	VADDPS       kOne<>(SB), Y0, Y0
	VPSRLD       $23, Y0, Y1
	VPSUBD       kLog126<>(SB), Y1, Y1   // k
	VPAND        kLogBits<>(SB), Y0, Y0
	VPOR         kLogHalf<>(SB), Y0, Y0  // m
	VCMPPS       $1, kLogRoot<>(SB), Y0, Y2
	VPADDD       Y2, Y1, Y1               // k−1 where m < √½
	VANDPS       Y2, Y0, Y3
	VADDPS       Y3, Y0, Y0               // 2m there
	VCVTDQ2PS    Y1, Y1
	VADDPS       kOne<>(SB), Y0, Y3
	VSUBPS       kOne<>(SB), Y0, Y2
	VDIVPS       Y3, Y2, Y2               // z
	VMULPS       Y2, Y2, Y3               // z²
	VMOVUPS      kLog11<>(SB), Y4
	VFMADD213PS  kLog9<>(SB), Y3, Y4
	VFMADD213PS  kLog7<>(SB), Y3, Y4
	VFMADD213PS  kLog5<>(SB), Y3, Y4
	VFMADD213PS  kLog3<>(SB), Y3, Y4
	VFMADD213PS  kOne<>(SB), Y3, Y4
	VADDPS       Y2, Y2, Y2
	VMULPS       Y2, Y4, Y4
	VFMADD231PS  kLogLn2<>(SB), Y1, Y4
	VMOVUPS      Y4, (DI)(BX*1)
	ADDQ         $32, BX
	CMPQ         BX, CX
	JLT          eight
	VZEROUPPER
	RET
