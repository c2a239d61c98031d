#include "textflag.h"
#include "go_asm.h"
#include "math_amd64.h"

// A convolution of four taps, step by step so that memory is read in order; eight channels at a time. The table holds the four
// taps and the bias of eight channels after each other (160 bytes). Rows before the first step, and gradients after the last
// one, are rows of zeros. Channels after the last whole vector stand under the mask Y15.
//
// AX place in a row, BX place in the table, CX bytes of whole vectors

// SUMS adds bias and taps: s = bias + w₀·x₀ + w₁·x₁ + w₂·x₂ + w₃·x₃.
#define SUMS(x0, x1, x2, x3, w, s) \
	VMOVUPS     128(w)(BX*1), s    \
	VFMADD231PS (w)(BX*1), x0, s   \
	VFMADD231PS 32(w)(BX*1), x1, s \
	VFMADD231PS 64(w)(BX*1), x2, s \
	VFMADD231PS 96(w)(BX*1), x3, s

// BEFORE turns the sum s and the gradient d behind SiLU into the gradient before it, in d. Destroys t, p, q.
#define BEFORE(s, d, t, p, q) \
	SIGMOID8(s, t, p, q)        \
	VMOVUPS     kOne<>(SB), p   \
	VSUBPS      t, p, q         \
	VFMADD213PS p, s, q         \
	VMULPS      t, q, q         \
	VMULPS      q, d, d

// func conv8(a *convSteps)
//
// R8, R9, R10, R11 x at t−3 … t, R12 y, R13 table, DX steps left
TEXT ·conv8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    convSteps_zeros(DI), R8
	MOVQ    R8, R9
	MOVQ    R8, R10
	MOVQ    convSteps_x(DI), R11
	MOVQ    convSteps_y(DI), R12
	MOVQ    convSteps_w(DI), R13
	MOVQ    convSteps_steps(DI), DX
	MOVQ    convSteps_whole(DI), CX
	MOVQ    convSteps_mask(DI), AX
	VMOVUPS (AX), Y15

step:
	XORQ AX, AX
	XORQ BX, BX

channels:
	CMPQ    AX, CX
	JGE     tail
	VMOVUPS (R8)(AX*1), Y0
	VMOVUPS (R9)(AX*1), Y1
	VMOVUPS (R10)(AX*1), Y2
	VMOVUPS (R11)(AX*1), Y3
	SUMS(Y0, Y1, Y2, Y3, R13, Y4)
	SILU8(Y4, Y4, Y5, Y6, Y7)
	VMOVUPS Y4, (R12)(AX*1)
	ADDQ    $32, AX
	ADDQ    $160, BX
	JMP     channels

tail:
	CMPQ       convSteps_tail(DI), $0
	JEQ        next
	VMASKMOVPS (R8)(AX*1), Y15, Y0
	VMASKMOVPS (R9)(AX*1), Y15, Y1
	VMASKMOVPS (R10)(AX*1), Y15, Y2
	VMASKMOVPS (R11)(AX*1), Y15, Y3
	SUMS(Y0, Y1, Y2, Y3, R13, Y4)
	SILU8(Y4, Y4, Y5, Y6, Y7)
	VMASKMOVPS Y4, Y15, (R12)(AX*1)

next:
	MOVQ R9, R8
	MOVQ R10, R9
	MOVQ R11, R10
	ADDQ convSteps_xStep(DI), R11
	ADDQ convSteps_yStep(DI), R12
	DECQ DX
	JNZ  step
	VZEROUPPER
	RET

// WEIGHTS adds the gradients of taps and bias. Destroys t.
#define WEIGHT(x, d, at, t) \
	VMOVUPS     at(SI)(BX*1), t \
	VFMADD231PS x, d, t         \
	VMOVUPS     t, at(SI)(BX*1)

#define WEIGHTS(d, t) \
	WEIGHT(Y0, d, 0, t)            \
	WEIGHT(Y1, d, 32, t)           \
	WEIGHT(Y2, d, 64, t)           \
	WEIGHT(Y3, d, 96, t)           \
	VADDPS  128(SI)(BX*1), d, t    \
	VMOVUPS t, 128(SI)(BX*1)

// func convGrad8(a *convSteps)
//
// First the gradients ds before SiLU and those of the table, in which ds is padded to whole vectors; then dx from ds.
//
// R8 … R11 x at t−3 … t, R12 ds, R13 table, SI its gradient, DX dy; steps count in memory
TEXT ·convGrad8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    convSteps_zeros(DI), R8
	MOVQ    R8, R9
	MOVQ    R8, R10
	MOVQ    convSteps_x(DI), R11
	MOVQ    convSteps_ds(DI), R12
	MOVQ    convSteps_w(DI), R13
	MOVQ    convSteps_dw(DI), SI
	MOVQ    convSteps_dy(DI), DX
	MOVQ    convSteps_whole(DI), CX
	MOVQ    convSteps_mask(DI), AX
	VMOVUPS (AX), Y15

step:
	XORQ AX, AX
	XORQ BX, BX

channels:
	CMPQ    AX, CX
	JGE     tail
	VMOVUPS (R8)(AX*1), Y0
	VMOVUPS (R9)(AX*1), Y1
	VMOVUPS (R10)(AX*1), Y2
	VMOVUPS (R11)(AX*1), Y3
	VMOVUPS (DX)(AX*1), Y5
	SUMS(Y0, Y1, Y2, Y3, R13, Y4)
	BEFORE(Y4, Y5, Y6, Y7, Y8)
	VMOVUPS Y5, (R12)(AX*1)
	WEIGHTS(Y5, Y6)
	ADDQ    $32, AX
	ADDQ    $160, BX
	JMP     channels

tail:
	CMPQ       convSteps_tail(DI), $0
	JEQ        next
	VMASKMOVPS (R8)(AX*1), Y15, Y0
	VMASKMOVPS (R9)(AX*1), Y15, Y1
	VMASKMOVPS (R10)(AX*1), Y15, Y2
	VMASKMOVPS (R11)(AX*1), Y15, Y3
	VMASKMOVPS (DX)(AX*1), Y15, Y5
	SUMS(Y0, Y1, Y2, Y3, R13, Y4)
	BEFORE(Y4, Y5, Y6, Y7, Y8)
	VMOVUPS    Y5, (R12)(AX*1)
	WEIGHTS(Y5, Y6)

next:
	MOVQ R9, R8
	MOVQ R10, R9
	MOVQ R11, R10
	ADDQ convSteps_xStep(DI), R11
	ADDQ convSteps_dyStep(DI), DX
	ADDQ convSteps_dsStep(DI), R12
	DECQ convSteps_left(DI)
	JNZ  step

	// dx[t] = w₃·ds[t] + w₂·ds[t+1] + w₁·ds[t+2] + w₀·ds[t+3]; R8 … R11 ds at t … t+3, R12 dx
	MOVQ convSteps_ds(DI), R8
	MOVQ convSteps_dsStep(DI), AX
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	MOVQ convSteps_y(DI), R12

back:
	XORQ AX, AX
	XORQ BX, BX

inputs:
	CMPQ AX, CX
	JLT  input
	CMPQ convSteps_tail(DI), $0
	JEQ  earlier

input:
	VMOVUPS     (R8)(AX*1), Y0
	VMULPS      96(R13)(BX*1), Y0, Y0
	VMOVUPS     (R9)(AX*1), Y1
	VFMADD231PS 64(R13)(BX*1), Y1, Y0
	VMOVUPS     (R10)(AX*1), Y1
	VFMADD231PS 32(R13)(BX*1), Y1, Y0
	VMOVUPS     (R11)(AX*1), Y1
	VFMADD231PS (R13)(BX*1), Y1, Y0
	CMPQ        AX, CX
	JGE         rest
	VMOVUPS     Y0, (R12)(AX*1)
	ADDQ        $32, AX
	ADDQ        $160, BX
	JMP         inputs

rest:
	VMASKMOVPS Y0, Y15, (R12)(AX*1)

earlier:
	MOVQ R9, R8
	MOVQ R10, R9
	MOVQ R11, R10
	ADDQ convSteps_dsStep(DI), R11
	ADDQ convSteps_yStep(DI), R12
	DECQ convSteps_steps(DI)
	JNZ  back
	VZEROUPPER
	RET
