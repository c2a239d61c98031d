#include "textflag.h"
#include "go_asm.h"
#include "math_amd64.h"

// LayerNorm row by row: whole vectors of eight columns, then one under a mask (Y15, in use when R13 is not 0). CX is the length
// of the whole vectors in bytes, AX the place in a row.

// MEAN8 puts the sum of y's lanes, divided by the number of columns, into all lanes of y.
#define MEAN8(y, ylow, s, slow) \
	HSUM8(y, ylow, s, slow)              \
	VDIVSS       normRows_n(DI), ylow, ylow \
	VBROADCASTSS ylow, y

// func norm8(a *normRows)
//
// The mean of the differences from the first mean, next to 0, corrects what rounding cost that one.
//
// SI x, DX residual, R8 y, R9 gamma, R10 beta, R11 means, R12 scales, BX rows left
TEXT ·norm8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    normRows_x(DI), SI
	MOVQ    normRows_residual(DI), DX
	MOVQ    normRows_y(DI), R8
	MOVQ    normRows_gamma(DI), R9
	MOVQ    normRows_beta(DI), R10
	MOVQ    normRows_means(DI), R11
	MOVQ    normRows_scales(DI), R12
	MOVQ    normRows_rows(DI), BX
	MOVQ    normRows_whole(DI), CX
	MOVQ    normRows_tail(DI), R13
	MOVQ    normRows_mask(DI), AX
	VMOVUPS (AX), Y15

row:
	VXORPS Y0, Y0, Y0
	XORQ   AX, AX
	TESTQ  DX, DX
	JZ     total

add:
	CMPQ    AX, CX
	JGE     addTail
	VMOVUPS (SI)(AX*1), Y1
	VADDPS  (DX)(AX*1), Y1, Y1
	VMOVUPS Y1, (SI)(AX*1)
	VADDPS  Y1, Y0, Y0
	ADDQ    $32, AX
	JMP     add

addTail:
	ADDQ       normRows_residualStep(DI), DX
	TESTQ      R13, R13
	JZ         mean
	SUBQ       normRows_residualStep(DI), DX
	VMASKMOVPS (SI)(AX*1), Y15, Y1
	VMASKMOVPS (DX)(AX*1), Y15, Y2
	VADDPS     Y2, Y1, Y1
	VMASKMOVPS Y1, Y15, (SI)(AX*1)
	VADDPS     Y1, Y0, Y0
	ADDQ       normRows_residualStep(DI), DX
	JMP        mean

total:
	CMPQ   AX, CX
	JGE    totalTail
	VADDPS (SI)(AX*1), Y0, Y0
	ADDQ   $32, AX
	JMP    total

totalTail:
	TESTQ      R13, R13
	JZ         mean
	VMASKMOVPS (SI)(AX*1), Y15, Y1
	VADDPS     Y1, Y0, Y0

mean:
	MEAN8(Y0, X0, Y1, X1)
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	XORQ   AX, AX

square:
	CMPQ        AX, CX
	JGE         squareTail
	VMOVUPS     (SI)(AX*1), Y1
	VSUBPS      Y0, Y1, Y1
	VADDPS      Y1, Y3, Y3
	VFMADD231PS Y1, Y1, Y2
	ADDQ        $32, AX
	JMP         square

squareTail:
	TESTQ       R13, R13
	JZ          scale
	VMASKMOVPS  (SI)(AX*1), Y15, Y1
	VSUBPS      Y0, Y1, Y1
	VANDPS      Y15, Y1, Y1
	VADDPS      Y1, Y3, Y3
	VFMADD231PS Y1, Y1, Y2

scale:
	MEAN8(Y3, X3, Y1, X1)
	HSUM8(Y2, X2, Y1, X1)
	VDIVSS       normRows_n(DI), X2, X2
	VADDPS       Y3, Y0, Y0
	VMOVSS       X0, (R11)
	VADDSS       normRows_eps(DI), X2, X2
	VSQRTSS      X2, X2, X2
	VMOVSS       kOne<>(SB), X1
	VDIVSS       X2, X1, X2
	VMOVSS       X2, (R12)
	VBROADCASTSS X2, Y2
	XORQ         AX, AX

write:
	CMPQ        AX, CX
	JGE         writeTail
	VMOVUPS     (SI)(AX*1), Y1
	VSUBPS      Y0, Y1, Y1
	VMULPS      Y2, Y1, Y1
	VMOVUPS     (R9)(AX*1), Y3
	VFMADD213PS (R10)(AX*1), Y3, Y1
	VMOVUPS     Y1, (R8)(AX*1)
	ADDQ        $32, AX
	JMP         write

writeTail:
	TESTQ       R13, R13
	JZ          next
	VMASKMOVPS  (SI)(AX*1), Y15, Y1
	VSUBPS      Y0, Y1, Y1
	VMULPS      Y2, Y1, Y1
	VMASKMOVPS  (R9)(AX*1), Y15, Y3
	VMASKMOVPS  (R10)(AX*1), Y15, Y4
	VFMADD213PS Y4, Y3, Y1
	VMASKMOVPS  Y1, Y15, (R8)(AX*1)

next:
	ADDQ normRows_xStep(DI), SI
	ADDQ normRows_yStep(DI), R8
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ BX
	JNZ  row
	VZEROUPPER
	RET

// func normGrad8(a *normRows)
//
// With x̂ = (x−mean)·scale and g = dy·gamma: dx = scale·(g − mean(g) − x̂·mean(g·x̂)); dgamma and dbeta are added to.
//
// SI x, DX dy, R8 dx, R9 gamma, R10 dbeta, R11 means, R12 scales, R13 dgamma, BX rows left;
// Y0 mean, Y1 scale, Y2 Σ g then mean(g), Y3 Σ g·x̂ then mean(g·x̂)
TEXT ·normGrad8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    normRows_x(DI), SI
	MOVQ    normRows_dy(DI), DX
	MOVQ    normRows_y(DI), R8
	MOVQ    normRows_gamma(DI), R9
	MOVQ    normRows_dbeta(DI), R10
	MOVQ    normRows_means(DI), R11
	MOVQ    normRows_scales(DI), R12
	MOVQ    normRows_dgamma(DI), R13
	MOVQ    normRows_rows(DI), BX
	MOVQ    normRows_whole(DI), CX
	MOVQ    normRows_mask(DI), AX
	VMOVUPS (AX), Y15

row:
	VBROADCASTSS (R11), Y0
	VBROADCASTSS (R12), Y1
	VXORPS       Y2, Y2, Y2
	VXORPS       Y3, Y3, Y3
	XORQ         AX, AX

sum:
	CMPQ        AX, CX
	JGE         sumTail
	VMOVUPS     (SI)(AX*1), Y4
	VSUBPS      Y0, Y4, Y4
	VMULPS      Y1, Y4, Y4
	VMOVUPS     (DX)(AX*1), Y5
	VADDPS      (R10)(AX*1), Y5, Y6
	VMOVUPS     Y6, (R10)(AX*1)
	VMOVUPS     (R13)(AX*1), Y6
	VFMADD231PS Y4, Y5, Y6
	VMOVUPS     Y6, (R13)(AX*1)
	VMULPS      (R9)(AX*1), Y5, Y5
	VADDPS      Y5, Y2, Y2
	VFMADD231PS Y4, Y5, Y3
	ADDQ        $32, AX
	JMP         sum

sumTail:
	CMPQ        normRows_tail(DI), $0
	JEQ         means
	VMASKMOVPS  (SI)(AX*1), Y15, Y4
	VSUBPS      Y0, Y4, Y4
	VMULPS      Y1, Y4, Y4
	VMASKMOVPS  (DX)(AX*1), Y15, Y5
	VADDPS      (R10)(AX*1), Y5, Y6
	VMOVUPS     Y6, (R10)(AX*1)
	VMOVUPS     (R13)(AX*1), Y6
	VFMADD231PS Y4, Y5, Y6
	VMOVUPS     Y6, (R13)(AX*1)
	VMASKMOVPS  (R9)(AX*1), Y15, Y6
	VMULPS      Y6, Y5, Y5
	VADDPS      Y5, Y2, Y2
	VFMADD231PS Y4, Y5, Y3

means:
	MEAN8(Y2, X2, Y5, X5)
	MEAN8(Y3, X3, Y6, X6)
	XORQ AX, AX

write:
	CMPQ         AX, CX
	JGE          writeTail
	VMOVUPS      (SI)(AX*1), Y4
	VSUBPS       Y0, Y4, Y4
	VMULPS       Y1, Y4, Y4
	VMOVUPS      (DX)(AX*1), Y5
	VMULPS       (R9)(AX*1), Y5, Y5
	VSUBPS       Y2, Y5, Y5
	VFNMADD231PS Y4, Y3, Y5
	VMULPS       Y1, Y5, Y5
	VMOVUPS      Y5, (R8)(AX*1)
	ADDQ         $32, AX
	JMP          write

writeTail:
	CMPQ         normRows_tail(DI), $0
	JEQ          next
	VMASKMOVPS   (SI)(AX*1), Y15, Y4
	VSUBPS       Y0, Y4, Y4
	VMULPS       Y1, Y4, Y4
	VMASKMOVPS   (DX)(AX*1), Y15, Y5
	VMASKMOVPS   (R9)(AX*1), Y15, Y6
	VMULPS       Y6, Y5, Y5
	VSUBPS       Y2, Y5, Y5
	VFNMADD231PS Y4, Y3, Y5
	VMULPS       Y1, Y5, Y5
	VMASKMOVPS   Y5, Y15, (R8)(AX*1)

next:
	ADDQ normRows_xStep(DI), SI
	ADDQ normRows_dyStep(DI), DX
	ADDQ normRows_yStep(DI), R8
	ADDQ $4, R11
	ADDQ $4, R12
	DECQ BX
	JNZ  row
	VZEROUPPER
	RET
