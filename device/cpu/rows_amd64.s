#include "textflag.h"
#include "math_amd64.h"
#include "run_amd64.h"

// Sums over rows keep four vectors of partial sums, so that additions need not wait for each other; the last numbers of a row go
// through a mask.

K8(kMinusInf, 0xff800000)

// FOLD4 adds Y0 … Y3 and their lanes into lane 0 of X0.
#define FOLD4 \
	VADDPS Y1, Y0, Y0 \
	VADDPS Y3, Y2, Y2 \
	VADDPS Y2, Y0, Y0 \
	HSUM8(Y0, X0, Y1, X1)

// func dotVector(x, y []float32) float32
TEXT ·dotVector(SB), NOSPLIT, $0-52
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	MOVQ   y_base+24(FP), DI
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	SUBQ   $32, CX
	JLT    eights

many:
	VMOVUPS     (SI), Y4
	VMOVUPS     32(SI), Y5
	VMOVUPS     64(SI), Y6
	VMOVUPS     96(SI), Y7
	VFMADD231PS (DI), Y4, Y0
	VFMADD231PS 32(DI), Y5, Y1
	VFMADD231PS 64(DI), Y6, Y2
	VFMADD231PS 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $32, CX
	JGE         many

eights:
	ADDQ $32, CX
	SUBQ $8, CX
	JLT  few

eight:
	VMOVUPS     (SI), Y4
	VFMADD231PS (DI), Y4, Y0
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $8, CX
	JGE         eight

few:
	ADDQ        $8, CX
	JZ          fold
	TAILMASK
	VMASKMOVPS  (SI), Y15, Y4
	VMASKMOVPS  (DI), Y15, Y5
	VFMADD231PS Y4, Y5, Y1

fold:
	FOLD4
	VMOVSS X0, ret+48(FP)
	VZEROUPPER
	RET

// func sumVector(x []float32) float32
TEXT ·sumVector(SB), NOSPLIT, $0-28
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	SUBQ   $32, CX
	JLT    eights

many:
	VADDPS (SI), Y0, Y0
	VADDPS 32(SI), Y1, Y1
	VADDPS 64(SI), Y2, Y2
	VADDPS 96(SI), Y3, Y3
	ADDQ   $128, SI
	SUBQ   $32, CX
	JGE    many

eights:
	ADDQ $32, CX
	SUBQ $8, CX
	JLT  few

eight:
	VADDPS (SI), Y0, Y0
	ADDQ   $32, SI
	SUBQ   $8, CX
	JGE    eight

few:
	ADDQ       $8, CX
	JZ         fold
	TAILMASK
	VMASKMOVPS (SI), Y15, Y4
	VADDPS     Y4, Y1, Y1

fold:
	FOLD4
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

#define AXPY8 \
	VMOVUPS     (SI)(BX*1), Y1     \
	VFMADD213PS (DI)(BX*1), Y0, Y1 \
	VMOVUPS     Y1, (DI)(BX*1)

#define AXPY_REST \
	VMASKMOVPS  (SI)(BX*1), Y15, Y1 \
	VMASKMOVPS  (DI)(BX*1), Y15, Y2 \
	VFMADD213PS Y2, Y0, Y1          \
	VMASKMOVPS  Y1, Y15, (DI)(BX*1)

// func axpyVector(y, x []float32, k float32)
TEXT ·axpyVector(SB), NOSPLIT, $0-52
	MOVQ         y_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSS k+48(FP), Y0
	RUN(AXPY8, AXPY_REST)

// func softmaxVector(x []float32)
//
// In place: Y0 the largest, Y1 the sum of eˣ⁻ᵐᵃˣ. Lanes behind the end count as −Inf.
TEXT ·softmaxVector(SB), NOSPLIT, $0-24
	MOVQ    x_base+0(FP), SI
	MOVQ    x_len+8(FP), R8
	MOVQ    R8, CX
	MOVQ    R8, DX
	ANDQ    $7, CX
	VXORPS  Y15, Y15, Y15
	JZ      aligned
	TAILMASK

aligned:
	SHRQ    $3, DX
	SHLQ    $5, DX
	ANDQ    $7, R8
	VMOVUPS kMinusInf<>(SB), Y14
	VMOVAPS Y14, Y0
	XORQ    BX, BX

top:
	CMPQ    BX, DX
	JGE     topRest
	VMAXPS  (SI)(BX*1), Y0, Y0
	ADDQ    $32, BX
	JMP     top

topRest:
	TESTQ      R8, R8
	JZ         largest
	VMASKMOVPS (SI)(BX*1), Y15, Y1
	VBLENDVPS  Y15, Y1, Y14, Y1
	VMAXPS     Y1, Y0, Y0

largest:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VMAXSS       X1, X0, X0
	VBROADCASTSS X0, Y0
	VUCOMISS     X14, X0
	JNE          some
	JPS          some
	VXORPS       Y0, Y0, Y0 // all −Inf: exponentials of 0, and 1 for their sum
	VMOVSS       kOne<>(SB), X1
	XORQ         BX, BX
	JMP          exps

some:
	VXORPS Y1, Y1, Y1
	XORQ   BX, BX

exps:
	CMPQ    BX, DX
	JGE     expsRest
	VMOVUPS (SI)(BX*1), Y2
	VSUBPS  Y0, Y2, Y2
	EXP8(Y2, Y2, Y3, Y4)
	VMOVUPS Y2, (SI)(BX*1)
	VADDPS  Y2, Y1, Y1
	ADDQ    $32, BX
	JMP     exps

expsRest:
	TESTQ      R8, R8
	JZ         total
	VMASKMOVPS (SI)(BX*1), Y15, Y2
	VSUBPS     Y0, Y2, Y2
	EXP8(Y2, Y2, Y3, Y4)
	VANDPS     Y15, Y2, Y2
	VMASKMOVPS Y2, Y15, (SI)(BX*1)
	VADDPS     Y2, Y1, Y1

total:
	HSUM8(Y1, X1, Y2, X2)
	VMOVSS       kOne<>(SB), X2
	VDIVSS       X1, X2, X2
	VBROADCASTSS X2, Y2
	XORQ         BX, BX

scales:
	CMPQ    BX, DX
	JGE     scalesRest
	VMULPS  (SI)(BX*1), Y2, Y3
	VMOVUPS Y3, (SI)(BX*1)
	ADDQ    $32, BX
	JMP     scales

scalesRest:
	TESTQ      R8, R8
	JZ         done
	VMASKMOVPS (SI)(BX*1), Y15, Y3
	VMULPS     Y3, Y2, Y3
	VMASKMOVPS Y3, Y15, (SI)(BX*1)

done:
	VZEROUPPER
	RET
