#include "textflag.h"
#include "run_amd64.h"

// func colSumVector(sum, x []float32, rows, stride int)
// Strips of 32 columns, then of 8, then the rest; rows > 0.
TEXT ·colSumVector(SB), NOSPLIT, $0-64
	MOVQ sum_base+0(FP), DI
	MOVQ sum_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ stride+56(FP), R9
	SHLQ $2, R9
	SUBQ $32, CX
	JLT  narrow

wide:
	MOVQ   rows+48(FP), R8
	MOVQ   SI, DX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

widerow:
	VADDPS (DX), Y0, Y0
	VADDPS 32(DX), Y1, Y1
	VADDPS 64(DX), Y2, Y2
	VADDPS 96(DX), Y3, Y3
	ADDQ   R9, DX
	DECQ   R8
	JNZ    widerow

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $32, CX
	JGE     wide

narrow:
	ADDQ $24, CX
	JLT  few

eight:
	MOVQ   rows+48(FP), R8
	MOVQ   SI, DX
	VXORPS Y0, Y0, Y0

eightrow:
	VADDPS (DX), Y0, Y0
	ADDQ   R9, DX
	DECQ   R8
	JNZ    eightrow

	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ   $8, CX
	JZ     done
	TAILMASK
	MOVQ   rows+48(FP), R8
	VXORPS Y0, Y0, Y0

fewrow:
	VMASKMOVPS (SI), Y15, Y1
	VADDPS     Y1, Y0, Y0
	ADDQ       R9, SI
	DECQ       R8
	JNZ        fewrow
	VMASKMOVPS Y0, Y15, (DI)

done:
	VZEROUPPER
	RET
