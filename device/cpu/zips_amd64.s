#include "textflag.h"
#include "run_amd64.h"

#define ZIP(op) \
	MOVQ z_base+0(FP), DI  \
	MOVQ x_base+24(FP), SI \
	MOVQ y_base+48(FP), DX \
	MOVQ z_len+8(FP), CX   \
	RUN(ZIPEIGHT(op), ZIPTAIL(op))

#define ZIPEIGHT(op) \
	VMOVUPS (SI)(BX*1), Y0     \
	op      (DX)(BX*1), Y0, Y0 \
	VMOVUPS Y0, (DI)(BX*1)

#define ZIPTAIL(op) \
	VMASKMOVPS (SI)(BX*1), Y15, Y0 \
	VMASKMOVPS (DX)(BX*1), Y15, Y1 \
	op         Y1, Y0, Y0          \
	VMASKMOVPS Y0, Y15, (DI)(BX*1)

#define ZIPONE(op) \
	MOVQ         z_base+0(FP), DI  \
	MOVQ         x_base+24(FP), SI \
	MOVQ         z_len+8(FP), CX   \
	VBROADCASTSS v+48(FP), Y1      \
	RUN(ZIPONEEIGHT(op), ZIPONETAIL(op))

#define ZIPONEEIGHT(op) \
	VMOVUPS (SI)(BX*1), Y0 \
	op      Y1, Y0, Y0     \
	VMOVUPS Y0, (DI)(BX*1)

#define ZIPONETAIL(op) \
	VMASKMOVPS (SI)(BX*1), Y15, Y0 \
	op         Y1, Y0, Y0          \
	VMASKMOVPS Y0, Y15, (DI)(BX*1)

// func addVector(z, x, y []float32)
TEXT ·addVector(SB), NOSPLIT, $0-72
	ZIP(VADDPS)

// func subVector(z, x, y []float32)
TEXT ·subVector(SB), NOSPLIT, $0-72
	ZIP(VSUBPS)

// func mulVector(z, x, y []float32)
TEXT ·mulVector(SB), NOSPLIT, $0-72
	ZIP(VMULPS)

// func addOneVector(z, x []float32, v float32)
TEXT ·addOneVector(SB), NOSPLIT, $0-52
	ZIPONE(VADDPS)

// func subOneVector(z, x []float32, v float32)
TEXT ·subOneVector(SB), NOSPLIT, $0-52
	ZIPONE(VSUBPS)

// func mulOneVector(z, x []float32, v float32)
TEXT ·mulOneVector(SB), NOSPLIT, $0-52
	ZIPONE(VMULPS)
