#include "textflag.h"
#include "go_asm.h"
#include "math_amd64.h"
#include "scan_amd64.h"

// (x·eˣ − eˣ + 1)/x² = kSlope0 + kSlope1·x + …, the series Σ xᵏ·(k+1)/(k+2)!
K8(kSlope0, 0x3f000000)
K8(kSlope1, 0x3eaaaaab)
K8(kSlope2, 0x3e000000)
K8(kSlope3, 0x3d088889)
K8(kSlope4, 0x3be38e39)
K8(kSlope5, 0x3a9c09c1)
K8(kSlope6, 0x39360b61)
K8(kSlope7, 0x37b8ef1d)
K8(kHalf, 0x3f000000) // below it the series, above it the formula

// OPEN loads a step: Δ into Y0, u into Y8, the gradient dy past the gate into Y7, and Skip·u into Y2. It adds dy·u to dskip.
// Destroys SI, DX, Y3, Y9.
#define OPEN \
	MOVQ        scanLanes_mask(DI), SI      \
	VMOVUPS     (SI), Y9                    \
	MOVQ        scanLanes_delta(DI), SI     \
	VMASKMOVPS  (SI), Y9, Y0                \
	AHEAD(SI, scanLanes_deltaAhead)         \
	ADDQ        scanLanes_deltaStep(DI), SI \
	MOVQ        SI, scanLanes_delta(DI)     \
	MOVQ        scanLanes_u(DI), SI         \
	VMASKMOVPS  (SI), Y9, Y8                \
	AHEAD(SI, scanLanes_uAhead)             \
	ADDQ        scanLanes_uStep(DI), SI     \
	MOVQ        SI, scanLanes_u(DI)         \
	MOVQ        scanLanes_skip(DI), SI      \
	VMULPS      (SI), Y8, Y2                \
	MOVQ        scanLanes_dy(DI), SI        \
	VMASKMOVPS  (SI), Y9, Y7                \
	ADDQ        scanLanes_dyStep(DI), SI    \
	MOVQ        SI, scanLanes_dy(DI)        \
	MOVQ        scanLanes_dskip(DI), SI     \
	VMOVUPS     (SI), Y3                    \
	VFMADD231PS Y7, Y8, Y3                  \
	VMOVUPS     Y3, (SI)

// SHUT writes the gradient of the gate: its slope times the sum in Y2.
#define SHUT(some, stored, done) \
	MOVQ   scanLanes_slope(DI), SI     \
	TESTQ  SI, SI                      \
	JZ     done                        \
	VMULPS (SI), Y2, Y2                \
	ADDQ   scanLanes_slopeStep(DI), SI \
	MOVQ   SI, scanLanes_slope(DI)     \
	MOVQ   scanLanes_dgate(DI), SI     \
	STORE(Y2, (SI), Y3, some, stored)  \
	AHEAD(SI, scanLanes_dgateAhead)    \
	ADDQ   scanLanes_dgateStep(DI), SI \
	MOVQ   SI, scanLanes_dgate(DI)     \
done:

// func scanStates8(a *scanLanes)
//
// The forward half of the gradient: keeps every state and decay, adds dy·h to dc and dy·u to dskip, and writes the gradient of the gate.
//
// R8 dc, R9 states after, R10 decays, R11 B, R12 C, R13 rates, BX states before, CX steps left, DX 4·N;
// Y0 Δ, Y1 Δ·u, Y2 Σ C·h, Y7 dy
TEXT ·scanStates8(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	CMPQ scanLanes_exact(DI), $0
	JEQ  euler
	JMP  scanExactStates8<>(SB)

euler:
	MOVQ scanLanes_dc(DI), R8
	MOVQ scanLanes_decays(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_steps(DI), CX
	POWER_CONSTANTS

step:
	OPEN
	VMULPS Y0, Y8, Y1
	MOVQ   scanLanes_n4(DI), DX
	LEAQ   (BX)(DX*8), R9
	XORQ   AX, AX

state:
	POWER((R13)(AX*8), Y0, Y4, Y5, Y3)
	VFMADD213PS  Y4, Y4, Y5
	VMOVUPS      Y5, (R10)(AX*8)
	VBROADCASTSS (R11)(AX*1), Y6
	VMULPS       (BX)(AX*8), Y5, Y5
	VFMADD231PS  Y6, Y1, Y5
	VMOVUPS      Y5, (R9)(AX*8)
	VBROADCASTSS (R12)(AX*1), Y3
	VFMADD231PS  Y5, Y3, Y2
	VMOVUPS      (R8)(AX*8), Y4
	VFMADD231PS  Y5, Y7, Y4
	VMOVUPS      Y4, (R8)(AX*8)
	ADDQ         $4, AX
	CMPQ         AX, DX
	JLT          state

	MOVQ R9, BX
	LEAQ (R8)(AX*8), R8
	LEAQ (R10)(AX*8), R10
	SHUT(some, stored, shut)
	ADDQ scanLanes_bStep(DI), R11
	ADDQ scanLanes_cStep(DI), R12
	DECQ CX
	JNZ  step
	VZEROUPPER
	RET

// scanExactStates8
//
// As scanStates8 with B̄ = (2ˣ−1)/A·B; also keeps (2ˣ−1)/A as weights. SI is inverse in the loop, CX weights; Y1 1.
TEXT scanExactStates8<>(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	MOVQ scanLanes_dc(DI), R8
	MOVQ scanLanes_decays(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_weights(DI), CX
	POWER_CONSTANTS

step:
	OPEN
	MOVQ    scanLanes_n4(DI), DX
	LEAQ    (BX)(DX*8), R9
	MOVQ    scanLanes_inverse(DI), SI
	VMOVUPS kOne<>(SB), Y1
	XORQ    AX, AX

state:
	POWER((R13)(AX*8), Y0, Y4, Y5, Y3)
	VSUBPS       Y1, Y4, Y6
	VFMADD231PS  Y5, Y4, Y6
	VMULPS       (SI)(AX*8), Y6, Y6
	VMOVUPS      Y6, (CX)(AX*8)
	VFMADD213PS  Y4, Y4, Y5
	VMOVUPS      Y5, (R10)(AX*8)
	VBROADCASTSS (R11)(AX*1), Y4
	VMULPS       Y8, Y4, Y4
	VMULPS       (BX)(AX*8), Y5, Y5
	VFMADD231PS  Y6, Y4, Y5
	VMOVUPS      Y5, (R9)(AX*8)
	VBROADCASTSS (R12)(AX*1), Y3
	VFMADD231PS  Y5, Y3, Y2
	VMOVUPS      (R8)(AX*8), Y4
	VFMADD231PS  Y5, Y7, Y4
	VMOVUPS      Y4, (R8)(AX*8)
	ADDQ         $4, AX
	CMPQ         AX, DX
	JLT          state

	MOVQ R9, BX
	LEAQ (R8)(AX*8), R8
	LEAQ (R10)(AX*8), R10
	LEAQ (CX)(AX*8), CX
	SHUT(some, stored, shut)
	ADDQ scanLanes_bStep(DI), R11
	ADDQ scanLanes_cStep(DI), R12
	DECQ scanLanes_steps(DI)
	JNZ  step
	VZEROUPPER
	RET

// BACK loads a step, the last first: Δ into Y0, u into Y8, dy past the gate into Y4. Destroys SI, Y9.
#define BACK \
	MOVQ       scanLanes_mask(DI), SI      \
	VMOVUPS    (SI), Y9                    \
	MOVQ       scanLanes_delta(DI), SI     \
	VMASKMOVPS (SI), Y9, Y0                \
	SUBQ       scanLanes_deltaStep(DI), SI \
	MOVQ       SI, scanLanes_delta(DI)     \
	MOVQ       scanLanes_u(DI), SI         \
	VMASKMOVPS (SI), Y9, Y8                \
	SUBQ       scanLanes_uStep(DI), SI     \
	MOVQ       SI, scanLanes_u(DI)         \
	MOVQ       scanLanes_dy(DI), SI        \
	VMASKMOVPS (SI), Y9, Y4                \
	SUBQ       scanLanes_dyStep(DI), SI    \
	MOVQ       SI, scanLanes_dy(DI)

// TO_END moves the pointers to kept steps behind the last one. AX is the distance.
#define TO_END \
	MOVQ  scanLanes_steps(DI), AX  \
	SHLQ  $3, AX                   \
	IMULQ scanLanes_n4(DI), AX     \
	ADDQ  AX, R8                   \
	ADDQ  AX, R10                  \
	ADDQ  AX, BX

// WRITE stores the gradients of u and Δ from Y2 and Y3.
#define WRITE(some1, done1, some2, done2) \
	MOVQ scanLanes_du(DI), SI            \
	STORE(Y2, (SI), Y5, some1, done1)    \
	AHEAD(SI, scanLanes_duAhead)         \
	SUBQ scanLanes_duStep(DI), SI        \
	MOVQ SI, scanLanes_du(DI)            \
	MOVQ scanLanes_ddelta(DI), SI        \
	STORE(Y3, (SI), Y5, some2, done2)    \
	AHEAD(SI, scanLanes_ddeltaAhead)     \
	SUBQ scanLanes_ddeltaStep(DI), SI    \
	MOVQ SI, scanLanes_ddelta(DI)

// func scanBack8(a *scanLanes)
//
// The backward half: row pointers start at the last step, those to kept steps at the first one. dh carries the gradient of the
// state; adds to db and da, writes du and ddelta.
//
// R8 db, R9 dh, R10 decays, R11 B, R12 C, R13 rates, BX states before, CX steps left, DX da;
// Y0 Δ, Y1 Δ·u, Y2 Σ g·B, Y3 Σ g·decay·h·rate, Y4 dy, Y8 u
TEXT ·scanBack8(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	CMPQ scanLanes_exact(DI), $0
	JEQ  euler
	JMP  scanExactBack8<>(SB)

euler:
	MOVQ scanLanes_db(DI), R8
	MOVQ scanLanes_dh(DI), R9
	MOVQ scanLanes_decays(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_steps(DI), CX
	MOVQ scanLanes_da(DI), DX
	TO_END

step:
	BACK
	VMULPS Y0, Y8, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	MOVQ   scanLanes_n4(DI), AX
	SHLQ   $3, AX
	SUBQ   AX, R8
	SUBQ   AX, R10
	SUBQ   AX, BX
	SHRQ   $3, AX
	MOVQ   AX, SI
	XORQ   AX, AX

state:
	VBROADCASTSS (R12)(AX*1), Y5
	VMOVUPS      (R9)(AX*8), Y6
	VFMADD231PS  Y5, Y4, Y6          // g: the gradient of this step's state
	VMOVUPS      (R8)(AX*8), Y7
	VFMADD231PS  Y6, Y1, Y7
	VMOVUPS      Y7, (R8)(AX*8)
	VBROADCASTSS (R11)(AX*1), Y5
	VFMADD231PS  Y5, Y6, Y2
	VMULPS       (R10)(AX*8), Y6, Y6
	VMOVUPS      Y6, (R9)(AX*8)
	VMULPS       (BX)(AX*8), Y6, Y6
	VFMADD231PS  (R13)(AX*8), Y6, Y3
	VMOVUPS      (DX)(AX*8), Y7
	VFMADD231PS  Y6, Y0, Y7
	VMOVUPS      Y7, (DX)(AX*8)
	ADDQ         $4, AX
	CMPQ         AX, SI
	JLT          state

	VMULPS      kLn2<>(SB), Y3, Y3
	VFMADD231PS Y2, Y8, Y3            // ddelta
	VMULPS      Y0, Y2, Y2
	MOVQ        scanLanes_skip(DI), SI
	VFMADD231PS (SI), Y4, Y2          // du
	MOVQ        DX, AX
	WRITE(some1, done1, some2, done2)
	MOVQ        AX, DX
	SUBQ        scanLanes_bStep(DI), R11
	SUBQ        scanLanes_cStep(DI), R12
	DECQ        CX
	JNZ         step
	VZEROUPPER
	RET

// scanExactBack8
//
// As scanBack8 with B̄ = weight·B, weight = (2ˣ−1)/A, whose derivatives are the decay (by Δ) and Δ²·slope(Δ·A) (by A), which far
// from 0 is (Δ·decay − weight)/A.
//
// DX da, SI inverse, CX weights; Y1 Δ², Y2 Σ g·B·weight, Y3 Σ g·decay·h·rate, Y9 Σ g·B·u·decay, Y10 Δ·ln 2
TEXT scanExactBack8<>(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	MOVQ scanLanes_db(DI), R8
	MOVQ scanLanes_dh(DI), R9
	MOVQ scanLanes_decays(DI), R10
	MOVQ scanLanes_b(DI), R11
	MOVQ scanLanes_c(DI), R12
	MOVQ scanLanes_rates(DI), R13
	MOVQ scanLanes_states(DI), BX
	MOVQ scanLanes_weights(DI), CX
	TO_END
	ADDQ AX, CX

step:
	BACK
	VMULPS Y0, Y0, Y1
	VMULPS kLn2<>(SB), Y0, Y10
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y9, Y9, Y9
	MOVQ   scanLanes_n4(DI), AX
	SHLQ   $3, AX
	SUBQ   AX, R8
	SUBQ   AX, R10
	SUBQ   AX, BX
	SUBQ   AX, CX
	MOVQ   scanLanes_da(DI), DX
	MOVQ   scanLanes_inverse(DI), SI
	XORQ   AX, AX

state:
	VBROADCASTSS (R12)(AX*1), Y5
	VMOVUPS      (R9)(AX*8), Y6
	VFMADD231PS  Y5, Y4, Y6                // g
	VMOVUPS      (CX)(AX*8), Y11           // weight
	VMOVUPS      (R10)(AX*8), Y12          // decay
	VMULPS       Y6, Y11, Y13              // g·weight
	VMOVUPS      (R8)(AX*8), Y7
	VFMADD231PS  Y13, Y8, Y7
	VMOVUPS      Y7, (R8)(AX*8)
	VBROADCASTSS (R11)(AX*1), Y5
	VFMADD231PS  Y5, Y13, Y2
	VMULPS       Y5, Y6, Y13
	VMULPS       Y8, Y13, Y13              // g·B·u
	VFMADD231PS  Y13, Y12, Y9
	VMULPS       Y12, Y6, Y6
	VMOVUPS      Y6, (R9)(AX*8)
	VMULPS       (BX)(AX*8), Y6, Y6
	VFMADD231PS  (R13)(AX*8), Y6, Y3
	VMOVUPS      (DX)(AX*8), Y7
	VFMADD231PS  Y6, Y0, Y7
	VMULPS       (R13)(AX*8), Y10, Y14     // x = Δ·A
	VMOVUPS      kSlope7<>(SB), Y15
	VFMADD213PS  kSlope6<>(SB), Y14, Y15
	VFMADD213PS  kSlope5<>(SB), Y14, Y15
	VFMADD213PS  kSlope4<>(SB), Y14, Y15
	VFMADD213PS  kSlope3<>(SB), Y14, Y15
	VFMADD213PS  kSlope2<>(SB), Y14, Y15
	VFMADD213PS  kSlope1<>(SB), Y14, Y15
	VFMADD213PS  kSlope0<>(SB), Y14, Y15
	VMULPS       Y1, Y15, Y15
	VFMSUB231PS  Y0, Y12, Y11              // Δ·decay − weight
	VMULPS       (SI)(AX*8), Y11, Y11
	VMOVUPS      kSign<>(SB), Y5
	VANDNPS      Y14, Y5, Y14
	VCMPPS       $1, kHalf<>(SB), Y14, Y14
	VBLENDVPS    Y14, Y15, Y11, Y11
	VFMADD231PS  Y13, Y11, Y7
	VMOVUPS      Y7, (DX)(AX*8)
	ADDQ         $4, AX
	CMPQ         AX, scanLanes_n4(DI)
	JLT          state

	VMOVUPS     kLn2<>(SB), Y5
	VFMADD213PS Y9, Y5, Y3                // ddelta
	MOVQ        scanLanes_skip(DI), SI
	VFMADD231PS (SI), Y4, Y2              // du
	WRITE(some1, done1, some2, done2)
	SUBQ        scanLanes_bStep(DI), R11
	SUBQ        scanLanes_cStep(DI), R12
	DECQ        scanLanes_steps(DI)
	JNZ         step
	VZEROUPPER
	RET

// PAST turns the gate x and dy into dy past the gate, in y, and dy·SiLU′(gate), in x.
#define PAST(x, y) \
	SIGMOID8(x, Y3, Y4, Y5)     \
	VMULPS      Y3, y, y        \
	VMOVUPS     kOne<>(SB), Y4  \
	VSUBPS      Y3, Y4, Y5      \
	VFMADD213PS Y4, x, Y5       \
	VMULPS      y, Y5, Y5       \
	VMULPS      x, y, y         \
	VMOVAPS     Y5, x

// func scanPast8(a *scanGate)
//
// Row by row; past and slope are padded to whole vectors. SI gate, R8 dy, R9 past, R10 slope, CX bytes of whole vectors, DX rows left
TEXT ·scanPast8(SB), NOSPLIT, $0-8
	MOVQ    a+0(FP), DI
	MOVQ    scanGate_gate(DI), SI
	MOVQ    scanGate_y(DI), R8
	MOVQ    scanGate_past(DI), R9
	MOVQ    scanGate_slope(DI), R10
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
	PAST(Y0, Y1)
	VMOVUPS Y1, (R9)(AX*1)
	VMOVUPS Y0, (R10)(AX*1)
	ADDQ    $32, AX
	JMP     eight

few:
	CMPQ       scanGate_tail(DI), $0
	JEQ        next
	VMASKMOVPS (SI)(AX*1), Y15, Y0
	VMASKMOVPS (R8)(AX*1), Y15, Y1
	PAST(Y0, Y1)
	VMOVUPS    Y1, (R9)(AX*1)
	VMOVUPS    Y0, (R10)(AX*1)

next:
	ADDQ scanGate_gateStep(DI), SI
	ADDQ scanGate_yStep(DI), R8
	ADDQ scanGate_paddedStep(DI), R9
	ADDQ scanGate_paddedStep(DI), R10
	DECQ DX
	JNZ  row
	VZEROUPPER
	RET

// func foldLanes8(dst, src *float32, n int)
//
// dst[i] = Σ over lanes of src[i], for n vectors.
TEXT ·foldLanes8(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

eight:
	SUBQ         $8, CX
	JLT          rest
	VMOVUPS      (SI), Y0
	VMOVUPS      64(SI), Y1
	VMOVUPS      128(SI), Y2
	VMOVUPS      192(SI), Y3
	VHADDPS      32(SI), Y0, Y0
	VHADDPS      96(SI), Y1, Y1
	VHADDPS      160(SI), Y2, Y2
	VHADDPS      224(SI), Y3, Y3
	VHADDPS      Y1, Y0, Y0
	VHADDPS      Y3, Y2, Y2
	VPERM2F128   $0x20, Y2, Y0, Y1
	VPERM2F128   $0x31, Y2, Y0, Y3
	VADDPS       Y1, Y3, Y0
	VMOVUPS      Y0, (DI)
	ADDQ         $256, SI
	ADDQ         $32, DI
	JMP          eight

rest:
	ADDQ $8, CX
	JZ   done

one:
	VMOVUPS (SI), Y0
	HSUM8(Y0, X0, Y1, X1)
	VMOVSS  X0, (DI)
	ADDQ    $32, SI
	ADDQ    $4, DI
	DECQ    CX
	JNZ     one

done:
	VZEROUPPER
	RET
