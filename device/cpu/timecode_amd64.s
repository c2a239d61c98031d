#include "textflag.h"
#include "math_amd64.h"
#include "run_amd64.h"
#include "trig_amd64.h"

// func codeVector(y, w, bias []float32, delta float32) (done int)
// It stops before eight numbers of which one phase is too large.
TEXT ·codeVector(SB), NOSPLIT, $0-88
	MOVQ         y_base+0(FP), DI
	MOVQ         y_len+8(FP), CX
	MOVQ         w_base+24(FP), SI
	MOVQ         bias_base+48(FP), DX
	VBROADCASTSS delta+72(FP), Y9
	XORQ         BX, BX
	SUBQ         $8, CX
	JLT          few

eight:
	VMULPS  (SI)(BX*1), Y9, Y0
	VADDPS  (DX)(BX*1), Y0, Y0
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	COS8
	VMOVUPS Y0, (DI)(BX*1)
	ADDQ    $32, BX
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ       $8, CX
	JZ         done
	TAILMASK
	VMASKMOVPS (SI)(BX*1), Y15, Y0
	VMASKMOVPS (DX)(BX*1), Y15, Y1
	VMULPS     Y0, Y9, Y0
	VADDPS     Y1, Y0, Y0
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	COS8
	VMASKMOVPS Y0, Y15, (DI)(BX*1)
	MOVQ       y_len+8(FP), BX
	SHLQ       $2, BX

done:
	SHRQ $2, BX
	MOVQ BX, done+80(FP)
	VZEROUPPER
	RET

// ADDSINES adds the eight numbers −sin·dy, in float64, to dbias and their products with delta to dw.
// Y0 sin, Y7 dy, Y8 delta; R8 dw, R9 dbias at twice BX.
#define ADDSINES \
	VXORPS       kSign<>(SB), Y0, Y0    \
	VEXTRACTF128 $1, Y0, X1             \
	VEXTRACTF128 $1, Y7, X2             \
	VCVTPS2PD    X0, Y0                 \
	VCVTPS2PD    X1, Y1                 \
	VCVTPS2PD    X7, Y3                 \
	VCVTPS2PD    X2, Y4                 \
	VMULPD       Y3, Y0, Y0             \
	VMULPD       Y4, Y1, Y1             \
	VADDPD       (R9)(BX*2), Y0, Y2     \
	VADDPD       32(R9)(BX*2), Y1, Y3   \
	VMOVUPD      Y2, (R9)(BX*2)         \
	VMOVUPD      Y3, 32(R9)(BX*2)       \
	VMOVUPD      (R8)(BX*2), Y2         \
	VMOVUPD      32(R8)(BX*2), Y3       \
	VFMADD231PD  Y8, Y0, Y2             \
	VFMADD231PD  Y8, Y1, Y3             \
	VMOVUPD      Y2, (R8)(BX*2)         \
	VMOVUPD      Y3, 32(R8)(BX*2)

// func codeGradVector(dw, dbias []float64, dy, w, bias []float32, delta float32) (done int)
// dw and dbias have room for whole eights. It stops before eight numbers of which one phase is too large.
TEXT ·codeGradVector(SB), NOSPLIT, $0-136
	MOVQ         dw_base+0(FP), R8
	MOVQ         dbias_base+24(FP), R9
	MOVQ         dy_base+48(FP), R10
	MOVQ         dy_len+56(FP), CX
	MOVQ         w_base+72(FP), SI
	MOVQ         bias_base+96(FP), DX
	VBROADCASTSS delta+120(FP), Y9
	VCVTPS2PD    X9, Y8
	XORQ         BX, BX
	SUBQ         $8, CX
	JLT          few

eight:
	VMULPS  (SI)(BX*1), Y9, Y0
	VADDPS  (DX)(BX*1), Y0, Y0
	VMOVUPS (R10)(BX*1), Y7
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	SIN8
	ADDSINES
	ADDQ    $32, BX
	SUBQ    $8, CX
	JGE     eight

few:
	ADDQ       $8, CX
	JZ         done
	TAILMASK
	VMASKMOVPS (SI)(BX*1), Y15, Y0
	VMASKMOVPS (DX)(BX*1), Y15, Y1
	VMASKMOVPS (R10)(BX*1), Y15, Y7
	VMULPS     Y0, Y9, Y0
	VADDPS     Y1, Y0, Y0
	TRIGCHECK8(Y0, Y1, done)
	WIDEN8
	SIN8
	ADDSINES
	MOVQ       dy_len+56(FP), BX
	SHLQ       $2, BX

done:
	SHRQ $2, BX
	MOVQ BX, done+128(FP)
	VZEROUPPER
	RET
