#include "textflag.h"
#include "go_asm.h"
#include "math_amd64.h"
#include "scan_amd64.h"

// func scan8(a *scanLanes)
//
// DI arguments, SI u, R8 Δ, R10 y, R11 B, R12 C, R13 rates, BX h, CX steps left;
// Y0 Δ, Y1 Δ·u, Y2 Σ C·h, Y7 u, Y8 skip, Y9 mask
TEXT ·scan8(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	CMPQ scanLanes_exact(DI), $0
	JEQ  euler
	JMP  scanExact8<>(SB)

euler:
	MOVQ scanLanes_u(DI), SI
	MOVQ scanLanes_delta(DI), R8
	MOVQ scanLanes_y(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_steps(DI), CX
	MOVQ scanLanes_skip(DI), AX
	VMOVUPS (AX), Y8
	MOVQ scanLanes_mask(DI), AX
	VMOVUPS (AX), Y9
	POWER_CONSTANTS

step:
	VMASKMOVPS (R8), Y9, Y0
	VMASKMOVPS (SI), Y9, Y7
	VMULPS     Y7, Y8, Y2
	VMULPS     Y0, Y7, Y1
	AHEAD(SI, scanLanes_uAhead)
	AHEAD(R8, scanLanes_deltaAhead)
	AHEAD(R10, scanLanes_yAhead)
	MOVQ       scanLanes_n4(DI), DX
	XORQ       AX, AX
	TESTQ      DX, DX
	JZ         write

state:
	POWER((R13)(AX*8), Y0, Y4, Y5, Y3)
	VMULPS       (BX)(AX*8), Y4, Y4
	VBROADCASTSS (R11)(AX*1), Y6
	VFMADD213PS  Y4, Y4, Y5
	VFMADD231PS  Y6, Y1, Y5
	VMOVUPS      Y5, (BX)(AX*8)
	VBROADCASTSS (R12)(AX*1), Y3
	VFMADD231PS  Y5, Y3, Y2
	ADDQ         $4, AX
	CMPQ         AX, DX
	JLT          state

write:
	STORE(Y2, (R10), Y3, partial, stored)
	ADDQ scanLanes_uStep(DI), SI
	ADDQ scanLanes_deltaStep(DI), R8
	ADDQ scanLanes_yStep(DI), R10
	ADDQ scanLanes_bStep(DI), R11
	ADDQ scanLanes_cStep(DI), R12
	DECQ CX
	JNZ  step
	VZEROUPPER
	RET

// scanExact8
//
// As scan8, but R9 inverse, with B̄ = (2ˣ−1)/A·B. 2ˣ−1 = (base−1) + base·more, base being exactly 1 for small x. inverse holds 1/A.
TEXT scanExact8<>(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	MOVQ scanLanes_u(DI), SI
	MOVQ scanLanes_delta(DI), R8
	MOVQ scanLanes_inverse(DI), R9
	MOVQ scanLanes_y(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_steps(DI), CX
	MOVQ scanLanes_skip(DI), AX
	VMOVUPS (AX), Y8
	POWER_CONSTANTS

step:
	MOVQ       scanLanes_mask(DI), AX
	VMOVUPS    (AX), Y9
	VMASKMOVPS (R8), Y9, Y0
	VMASKMOVPS (SI), Y9, Y7
	VMULPS     Y7, Y8, Y2
	AHEAD(SI, scanLanes_uAhead)
	AHEAD(R8, scanLanes_deltaAhead)
	AHEAD(R10, scanLanes_yAhead)
	MOVQ       scanLanes_n4(DI), DX
	VMOVUPS    kOne<>(SB), Y9
	XORQ       AX, AX
	TESTQ      DX, DX
	JZ         write

state:
	POWER((R13)(AX*8), Y0, Y4, Y5, Y3)
	VSUBPS       Y9, Y4, Y6            // base − 1
	VFMADD231PS  Y5, Y4, Y6            // 2ˣ − 1
	VFMADD213PS  Y4, Y4, Y5            // 2ˣ
	VMULPS       (R9)(AX*8), Y6, Y6   // (2ˣ−1)/A
	VBROADCASTSS (R11)(AX*1), Y4
	VMULPS       Y7, Y4, Y4            // B·u
	VMULPS       (BX)(AX*8), Y5, Y5
	VFMADD231PS  Y6, Y4, Y5
	VMOVUPS      Y5, (BX)(AX*8)
	VBROADCASTSS (R12)(AX*1), Y3
	VFMADD231PS  Y5, Y3, Y2
	ADDQ         $4, AX
	CMPQ         AX, DX
	JLT          state

write:
	STORE(Y2, (R10), Y3, partial, stored)
	ADDQ scanLanes_uStep(DI), SI
	ADDQ scanLanes_deltaStep(DI), R8
	ADDQ scanLanes_yStep(DI), R10
	ADDQ scanLanes_bStep(DI), R11
	ADDQ scanLanes_cStep(DI), R12
	DECQ CX
	JNZ  step
	VZEROUPPER
	RET

#define GATE(x, y) \
	SILU8(x, x, Y3, Y4, Y5) \
	VMULPS x, y, y

// func scanGate8(a *scanGate)
//
// y = y·SiLU(gate), row by row. SI gate, R8 y, CX bytes of whole vectors, DX rows left
TEXT ·scanGate8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    scanGate_gate(DI), SI
	MOVQ    scanGate_y(DI), R8
	MOVQ    scanGate_rows(DI), DX
	MOVQ    scanGate_whole(DI), CX
	MOVQ    scanGate_mask(DI), AX
	VMOVUPS (AX), Y15

row:
	XORQ AX, AX

eight:
	CMPQ    AX, CX
	JGE     few
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS (R8)(AX*1), Y1
	GATE(Y0, Y1)
	VMOVUPS Y1, (R8)(AX*1)
	ADDQ    $32, AX
	JMP     eight

few:
	CMPQ       scanGate_tail(DI), $0
	JEQ        next
	VMASKMOVPS (SI)(AX*1), Y15, Y0
	VMASKMOVPS (R8)(AX*1), Y15, Y1
	GATE(Y0, Y1)
	VMASKMOVPS Y1, Y15, (R8)(AX*1)

next:
	ADDQ scanGate_gateStep(DI), SI
	ADDQ scanGate_yStep(DI), R8
	DECQ DX
	JNZ  row
	VZEROUPPER
	RET
