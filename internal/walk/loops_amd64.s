#include "textflag.h"

// Four numbers at a time with the instructions that every amd64 has: each product and each sum is rounded as in the
// plain loops, so that the results are the same bits.

// func scaleAll(h []float32, factor float32)
TEXT ·scaleAll(SB), NOSPLIT, $0-28
	MOVQ   h_base+0(FP), DI
	MOVQ   h_len+8(FP), CX
	MOVSS  factor+24(FP), X0
	SHUFPS $0, X0, X0
	SUBQ   $8, CX
	JLT    few

eight:
	MOVUPS (DI), X1
	MOVUPS 16(DI), X2
	MULPS  X0, X1
	MULPS  X0, X2
	MOVUPS X1, (DI)
	MOVUPS X2, 16(DI)
	ADDQ   $32, DI
	SUBQ   $8, CX
	JGE    eight

few:
	ADDQ $8, CX
	JZ   done

one:
	MOVSS (DI), X1
	MULSS X0, X1
	MOVSS X1, (DI)
	ADDQ  $4, DI
	DECQ  CX
	JNZ   one

done:
	RET

// func addAll(y, x []float32)
TEXT ·addAll(SB), NOSPLIT, $0-48
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	SUBQ $8, CX
	JLT  few

eight:
	MOVUPS (DI), X1
	MOVUPS 16(DI), X2
	MOVUPS (SI), X3
	MOVUPS 16(SI), X4
	ADDPS  X3, X1
	ADDPS  X4, X2
	MOVUPS X1, (DI)
	MOVUPS X2, 16(DI)
	ADDQ   $32, DI
	ADDQ   $32, SI
	SUBQ   $8, CX
	JGE    eight

few:
	ADDQ $8, CX
	JZ   done

one:
	MOVSS (DI), X1
	ADDSS (SI), X1
	MOVSS X1, (DI)
	ADDQ  $4, DI
	ADDQ  $4, SI
	DECQ  CX
	JNZ   one

done:
	RET
