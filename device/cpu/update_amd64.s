#include "textflag.h"
#include "go_asm.h"
#include "run_amd64.h"

// The optimizers, one pass each. DI w, SI g, R8 m, R9 v; arithmetic on Y0 w, Y1 g, Y2 m, Y3 v.

#define LOAD8(p, y) \
	VMOVUPS (p)(BX*1), y

#define STORE8(y, p) \
	VMOVUPS y, (p)(BX*1)

#define LOADTAIL(p, y) \
	VMASKMOVPS (p)(BX*1), Y15, y

#define STORETAIL(y, p) \
	VMASKMOVPS y, Y15, (p)(BX*1)

// Y8 decay, Y9 1−β₁, Y10 β₂, Y11 1−β₂, Y12 rate, Y13 √(1−β₂ᵗ), Y14 ε
#define ADAM8 \
	VFMADD231PS Y8, Y0, Y1   \
	VSUBPS      Y2, Y1, Y4   \
	VFMADD231PS Y9, Y4, Y2   \
	VMULPS      Y1, Y1, Y1   \
	VMULPS      Y11, Y1, Y1  \
	VFMADD213PS Y1, Y10, Y3  \
	VSQRTPS     Y3, Y4       \
	VDIVPS      Y13, Y4, Y4  \
	VADDPS      Y14, Y4, Y4  \
	VMULPS      Y12, Y2, Y5  \
	VDIVPS      Y4, Y5, Y5   \
	VSUBPS      Y5, Y0, Y0

#define ADAM(load, store) \
	load(DI, Y0)  \
	load(SI, Y1)  \
	load(R8, Y2)  \
	load(R9, Y3)  \
	ADAM8         \
	store(Y0, DI) \
	store(Y2, R8) \
	store(Y3, R9)

// func adamVector(w, g, m, v []float32, s *adamStep)
TEXT ·adamVector(SB), NOSPLIT, $0-104
	MOVQ         w_base+0(FP), DI
	MOVQ         w_len+8(FP), CX
	MOVQ         g_base+24(FP), SI
	MOVQ         m_base+48(FP), R8
	MOVQ         v_base+72(FP), R9
	MOVQ         s+96(FP), AX
	VBROADCASTSS adamStep_decay(AX), Y8
	VBROADCASTSS adamStep_mix(AX), Y9
	VBROADCASTSS adamStep_beta2(AX), Y10
	VBROADCASTSS adamStep_rest2(AX), Y11
	VBROADCASTSS adamStep_rate(AX), Y12
	VBROADCASTSS adamStep_root2(AX), Y13
	VBROADCASTSS adamStep_eps(AX), Y14
	RUN(ADAM(LOAD8, STORE8), ADAM(LOADTAIL, STORETAIL))

// Y8 decay, Y9 momentum, Y12 rate; without momentum m is g and is not stored
#define SGD(load, store) \
	load(DI, Y0)               \
	load(SI, Y1)               \
	VFMADD231PS  Y8, Y0, Y1    \
	VFNMADD231PS Y12, Y1, Y0   \
	store(Y0, DI)

#define MOMENTUM(load, store) \
	load(DI, Y0)               \
	load(SI, Y1)               \
	load(R8, Y2)               \
	VFMADD231PS  Y8, Y0, Y1    \
	VFMADD213PS  Y1, Y9, Y2    \
	VFNMADD231PS Y12, Y2, Y0   \
	store(Y0, DI)              \
	store(Y2, R8)

// func sgdVector(w, g []float32, s *sgdStep)
TEXT ·sgdVector(SB), NOSPLIT, $0-56
	MOVQ         w_base+0(FP), DI
	MOVQ         w_len+8(FP), CX
	MOVQ         g_base+24(FP), SI
	MOVQ         s+48(FP), AX
	VBROADCASTSS sgdStep_decay(AX), Y8
	VBROADCASTSS sgdStep_rate(AX), Y12
	RUN(SGD(LOAD8, STORE8), SGD(LOADTAIL, STORETAIL))

// func momentumVector(w, g, m []float32, s *sgdStep)
TEXT ·momentumVector(SB), NOSPLIT, $0-80
	MOVQ         w_base+0(FP), DI
	MOVQ         w_len+8(FP), CX
	MOVQ         g_base+24(FP), SI
	MOVQ         m_base+48(FP), R8
	MOVQ         s+72(FP), AX
	VBROADCASTSS sgdStep_decay(AX), Y8
	VBROADCASTSS sgdStep_momentum(AX), Y9
	VBROADCASTSS sgdStep_rate(AX), Y12
	RUN(MOMENTUM(LOAD8, STORE8), MOMENTUM(LOADTAIL, STORETAIL))

// Y8 decay, Y10 β₂, Y11 1−β₂, Y12 rate, Y14 ε
#define RMSPROP(load, store) \
	load(DI, Y0)              \
	load(SI, Y1)              \
	load(R9, Y3)              \
	VFMADD231PS Y8, Y0, Y1    \
	VMULPS      Y1, Y1, Y4    \
	VMULPS      Y11, Y4, Y4   \
	VFMADD213PS Y4, Y10, Y3   \
	VSQRTPS     Y3, Y4        \
	VADDPS      Y14, Y4, Y4   \
	VMULPS      Y12, Y1, Y5   \
	VDIVPS      Y4, Y5, Y5    \
	VSUBPS      Y5, Y0, Y0    \
	store(Y0, DI)             \
	store(Y3, R9)

// func rmspropVector(w, g, v []float32, s *rmspropStep)
TEXT ·rmspropVector(SB), NOSPLIT, $0-80
	MOVQ         w_base+0(FP), DI
	MOVQ         w_len+8(FP), CX
	MOVQ         g_base+24(FP), SI
	MOVQ         v_base+48(FP), R9
	MOVQ         s+72(FP), AX
	VBROADCASTSS rmspropStep_decay(AX), Y8
	VBROADCASTSS rmspropStep_beta2(AX), Y10
	VBROADCASTSS rmspropStep_rest2(AX), Y11
	VBROADCASTSS rmspropStep_rate(AX), Y12
	VBROADCASTSS rmspropStep_eps(AX), Y14
	RUN(RMSPROP(LOAD8, STORE8), RMSPROP(LOADTAIL, STORETAIL))
