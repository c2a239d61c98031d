#include "textflag.h"

// The two tiles of the matrix product. Both walk down strips of rows of A against one panel of packed B, keep the sums of a
// strip in registers, start them at *from, and store whole vectors. Each sum takes its products in order of k, one at a
// time, so an element's bits do not depend on the tile, the strip or the place in the strip that computed it.
//
//	R8 R9 (R12 R13)  rows 0, 3 (6, 9) of the strip, moving along k     R10  bytes from row to row
//	R11              bytes from k to k                                BX   the panel, moving along k
//	SI               the strip                                        DI   C      DX  from

#define TWO(row, acc0, acc1, s) \
	VBROADCASTSS row, s      \
	VFMADD231PS  Y12, s, acc0 \
	VFMADD231PS  Y13, s, acc1

#define STEP6x16(at) \
	VMOVUPS at+0(BX), Y12          \
	VMOVUPS at+32(BX), Y13         \
	TWO((R8), Y0, Y1, Y14)         \
	TWO((R8)(R10*1), Y2, Y3, Y15)  \
	TWO((R8)(R10*2), Y4, Y5, Y14)  \
	TWO((R9), Y6, Y7, Y15)         \
	TWO((R9)(R10*1), Y8, Y9, Y14)  \
	TWO((R9)(R10*2), Y10, Y11, Y15) \
	ADDQ R11, R8                   \
	ADDQ R11, R9

// func tile6x16(strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int, ahead *float32)
TEXT ·tile6x16(SB), NOSPLIT, $0-96
	MOVQ strips+0(FP), R15
	MOVQ a+16(FP), SI
	MOVQ aRow+24(FP), R10
	MOVQ aStep+32(FP), R11
	MOVQ c+56(FP), DI
	MOVQ cRow+64(FP), R12
	MOVQ from+72(FP), DX
	MOVQ ahead+88(FP), R14
	MOVQ fromRow+80(FP), R13

strip:
	MOVQ SI, R8
	LEAQ (R10)(R10*2), R9
	ADDQ SI, R9
	MOVQ b+48(FP), BX
	MOVQ k+8(FP), CX

	VMOVUPS (DX), Y0
	VMOVUPS 32(DX), Y1
	VMOVUPS (DX)(R13*1), Y2
	VMOVUPS 32(DX)(R13*1), Y3
	VMOVUPS (DX)(R13*2), Y4
	VMOVUPS 32(DX)(R13*2), Y5
	LEAQ    (R13)(R13*2), AX
	ADDQ    AX, DX
	VMOVUPS (DX), Y6
	VMOVUPS 32(DX), Y7
	VMOVUPS (DX)(R13*1), Y8
	VMOVUPS 32(DX)(R13*1), Y9
	VMOVUPS (DX)(R13*2), Y10
	VMOVUPS 32(DX)(R13*2), Y11
	ADDQ    AX, DX

	SUBQ $4, CX
	JLT  rest

four:
	STEP6x16(0)
	STEP6x16(64)
	STEP6x16(128)
	STEP6x16(192)
	PREFETCHT1 (R14)
	ADDQ $64, R14
	ADDQ $256, BX
	SUBQ $4, CX
	JGE  four

rest:
	ADDQ $4, CX
	JZ   store

one:
	STEP6x16(0)
	ADDQ $64, BX
	DECQ CX
	JNZ  one

store:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, (DI)(R12*1)
	VMOVUPS Y3, 32(DI)(R12*1)
	VMOVUPS Y4, (DI)(R12*2)
	VMOVUPS Y5, 32(DI)(R12*2)
	LEAQ    (R12)(R12*2), AX
	ADDQ    AX, DI
	VMOVUPS Y6, (DI)
	VMOVUPS Y7, 32(DI)
	VMOVUPS Y8, (DI)(R12*1)
	VMOVUPS Y9, 32(DI)(R12*1)
	VMOVUPS Y10, (DI)(R12*2)
	VMOVUPS Y11, 32(DI)(R12*2)
	ADDQ    AX, DI
	ADDQ    aStrip+40(FP), SI
	DECQ    R15
	JNZ     strip
	VZEROUPPER
	RET

#define THREE(row, acc0, acc1, acc2) \
	VBROADCASTSS (row), Y13         \
	VBROADCASTSS (row)(R10*1), Y14  \
	VBROADCASTSS (row)(R10*2), Y15  \
	VFMADD231PS  Y12, Y13, acc0     \
	VFMADD231PS  Y12, Y14, acc1     \
	VFMADD231PS  Y12, Y15, acc2     \
	ADDQ         R11, row

#define STEP12x8(at) \
	VMOVUPS at(BX), Y12   \
	THREE(R8, Y0, Y1, Y2)   \
	THREE(R9, Y3, Y4, Y5)   \
	THREE(R12, Y6, Y7, Y8)  \
	THREE(R13, Y9, Y10, Y11)

// func tile12x8(strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int, ahead *float32)
TEXT ·tile12x8(SB), NOSPLIT, $0-96
	MOVQ strips+0(FP), R15
	MOVQ a+16(FP), SI
	MOVQ aRow+24(FP), R10
	MOVQ aStep+32(FP), R11
	MOVQ c+56(FP), DI
	MOVQ from+72(FP), DX
	MOVQ ahead+88(FP), R14

strip:
	MOVQ SI, R8
	LEAQ (R10)(R10*2), AX
	LEAQ (SI)(AX*1), R9
	ADDQ aStrip+40(FP), SI
	MOVQ SI, R12
	LEAQ (SI)(AX*1), R13
	ADDQ aStrip+40(FP), SI
	MOVQ b+48(FP), BX
	MOVQ    fromRow+80(FP), AX
	LEAQ    (AX)(AX*2), CX
	VMOVUPS (DX), Y0
	VMOVUPS (DX)(AX*1), Y1
	VMOVUPS (DX)(AX*2), Y2
	ADDQ    CX, DX
	VMOVUPS (DX), Y3
	VMOVUPS (DX)(AX*1), Y4
	VMOVUPS (DX)(AX*2), Y5
	ADDQ    CX, DX
	VMOVUPS (DX), Y6
	VMOVUPS (DX)(AX*1), Y7
	VMOVUPS (DX)(AX*2), Y8
	ADDQ    CX, DX
	VMOVUPS (DX), Y9
	VMOVUPS (DX)(AX*1), Y10
	VMOVUPS (DX)(AX*2), Y11
	ADDQ    CX, DX
	MOVQ    k+8(FP), CX

	SUBQ $4, CX
	JLT  rest

four:
	STEP12x8(0)
	STEP12x8(32)
	STEP12x8(64)
	STEP12x8(96)
	PREFETCHT1 (R14)
	ADDQ $64, R14
	ADDQ $128, BX
	SUBQ $4, CX
	JGE  four

rest:
	ADDQ $4, CX
	JZ   store

one:
	STEP12x8(0)
	ADDQ $32, BX
	DECQ CX
	JNZ  one

store:
	MOVQ    cRow+64(FP), AX
	LEAQ    (AX)(AX*2), CX
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(AX*1)
	VMOVUPS Y2, (DI)(AX*2)
	ADDQ    CX, DI
	VMOVUPS Y3, (DI)
	VMOVUPS Y4, (DI)(AX*1)
	VMOVUPS Y5, (DI)(AX*2)
	ADDQ    CX, DI
	VMOVUPS Y6, (DI)
	VMOVUPS Y7, (DI)(AX*1)
	VMOVUPS Y8, (DI)(AX*2)
	ADDQ    CX, DI
	VMOVUPS Y9, (DI)
	VMOVUPS Y10, (DI)(AX*1)
	VMOVUPS Y11, (DI)(AX*2)
	ADDQ    CX, DI
	DECQ    R15
	JNZ     strip
	VZEROUPPER
	RET

// func take16(y, x *float32, xRow, k int)
// y[p,j] = x[p,j] for sixteen columns j.
TEXT ·take16(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ xRow+16(FP), R9
	MOVQ k+24(FP), CX

row:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    R9, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     row
	VZEROUPPER
	RET

// func take8(y, x *float32, xRow, k int)
// y[p,j] = x[p,j] for eight columns j.
TEXT ·take8(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ xRow+16(FP), R9
	MOVQ k+24(FP), CX

row:
	VMOVUPS (SI), Y0
	VMOVUPS Y0, (DI)
	ADDQ    R9, SI
	ADDQ    $32, DI
	DECQ    CX
	JNZ     row
	VZEROUPPER
	RET

// func turn8(y *float32, yRow int, x *float32, xRow, k int)
// y[p,i] = x[i,p] for eight rows i and k ≥ 8 columns p; the last block of eight overlaps the one before it.
TEXT ·turn8(SB), NOSPLIT, $0-40
	MOVQ y+0(FP), DI
	MOVQ yRow+8(FP), R8
	MOVQ x+16(FP), SI
	MOVQ xRow+24(FP), R9
	MOVQ k+32(FP), CX
	LEAQ (R8)(R8*2), R10
	LEAQ (R9)(R9*2), R11

block:
	LEAQ    (SI)(R9*4), R12
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R9*1), Y1
	VMOVUPS (SI)(R9*2), Y2
	VMOVUPS (SI)(R11*1), Y3
	VMOVUPS (R12), Y4
	VMOVUPS (R12)(R9*1), Y5
	VMOVUPS (R12)(R9*2), Y6
	VMOVUPS (R12)(R11*1), Y7

	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15

	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VUNPCKLPD Y14, Y12, Y4
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7

	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15

	LEAQ    (DI)(R8*4), R13
	VMOVUPS Y8, (DI)
	VMOVUPS Y9, (DI)(R8*1)
	VMOVUPS Y10, (DI)(R8*2)
	VMOVUPS Y11, (DI)(R10*1)
	VMOVUPS Y12, (R13)
	VMOVUPS Y13, (R13)(R8*1)
	VMOVUPS Y14, (R13)(R8*2)
	VMOVUPS Y15, (R13)(R10*1)

	SUBQ $8, CX
	JZ   done
	MOVQ $8, AX
	CMPQ CX, AX
	CMOVQLT CX, AX        // columns to move on by: 8, fewer before the last block
	LEAQ (SI)(AX*4), SI
	IMULQ R8, AX
	ADDQ AX, DI
	CMPQ CX, $8
	JGE  block
	MOVQ $8, CX
	JMP  block

done:
	VZEROUPPER
	RET
