#include "textflag.h"
#include "run_amd64.h"

// Eight counters at a time; c0 … c3 in Y0 … Y3, the keys in Y4 and Y5, the multipliers in Y6 and Y7.

DATA philoxLanes<>+0(SB)/8, $0x0000000100000000
DATA philoxLanes<>+8(SB)/8, $0x0000000300000002
DATA philoxLanes<>+16(SB)/8, $0x0000000500000004
DATA philoxLanes<>+24(SB)/8, $0x0000000700000006
GLOBL philoxLanes<>(SB), (RODATA|NOPTR), $32
DATA philoxMuls<>+0(SB)/4, $0xD2511F53
DATA philoxMuls<>+4(SB)/4, $0xCD9E8D57
DATA philoxMuls<>+8(SB)/4, $0x9E3779B9
DATA philoxMuls<>+12(SB)/4, $0xBB67AE85
GLOBL philoxMuls<>(SB), (RODATA|NOPTR), $16

// WIDE(c, m, hi, lo): the halves of the products of eight words c and m; hi and lo are other registers, Y15 is scratch.
#define WIDE(c, m, hi, lo) \
	VPMULUDQ c, m, lo            \
	VPSRLQ   $32, c, Y15         \
	VPMULUDQ Y15, m, Y15         \
	VPSRLQ   $32, lo, hi         \
	VPBLENDD $0xaa, Y15, hi, hi  \
	VPSLLQ   $32, Y15, Y15       \
	VPBLENDD $0xaa, Y15, lo, lo

#define ROUND \
	WIDE(Y0, Y6, Y10, Y11) \
	WIDE(Y2, Y7, Y12, Y13) \
	VPXOR Y12, Y1, Y0      \
	VPXOR Y4, Y0, Y0       \
	VMOVDQA Y13, Y1        \
	VPXOR Y10, Y3, Y2      \
	VPXOR Y5, Y2, Y2       \
	VMOVDQA Y11, Y3        \
	VPADDD Y8, Y4, Y4      \
	VPADDD Y9, Y5, Y5

// func drawVector(words []uint32, first uint64, stream, key0, key1 uint32)
TEXT ·drawVector(SB), NOSPLIT, $0-44
	MOVQ         words_base+0(FP), DI
	MOVQ         words_len+8(FP), CX
	MOVQ         first+24(FP), SI
	VPBROADCASTD philoxMuls<>+0(SB), Y6
	VPBROADCASTD philoxMuls<>+4(SB), Y7
	VPBROADCASTD philoxMuls<>+8(SB), Y8
	VPBROADCASTD philoxMuls<>+12(SB), Y9
	SUBQ         $32, CX
	JLT          done

block:
	MOVL         SI, AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0
	VPADDD       philoxLanes<>(SB), Y0, Y0
	MOVQ         SI, AX
	SHRQ         $32, AX
	VMOVD        AX, X1
	VPBROADCASTD X1, Y1
	VBROADCASTSS stream+32(FP), Y2
	VPXOR        Y3, Y3, Y3
	VBROADCASTSS key0+36(FP), Y4
	VBROADCASTSS key1+40(FP), Y5
	ROUND
	ROUND
	ROUND
	ROUND
	ROUND
	ROUND
	ROUND
	VMOVDQU      Y0, (DI)
	VMOVDQU      Y1, 32(DI)
	VMOVDQU      Y2, 64(DI)
	VMOVDQU      Y3, 96(DI)
	ADDQ         $8, SI
	ADDQ         $128, DI
	SUBQ         $32, CX
	JGE          block

done:
	VZEROUPPER
	RET

#define KEEP8 \
	VPMAXUD  Y1, Y3, Y4 \
	VPCMPEQD Y1, Y4, Y4 \
	VMULPS   Y2, Y0, Y0 \
	VANDPS   Y4, Y0, Y0

#define KEEPEIGHT \
	VMOVUPS (SI)(BX*1), Y0 \
	VMOVDQU (DX)(BX*1), Y1 \
	KEEP8                  \
	VMOVUPS Y0, (DI)(BX*1)

#define KEEPTAIL \
	VMASKMOVPS (SI)(BX*1), Y15, Y0 \
	VMASKMOVPS (DX)(BX*1), Y15, Y1 \
	KEEP8                          \
	VMASKMOVPS Y0, Y15, (DI)(BX*1)

// func keepVector(y, x []float32, words []uint32, least uint32, scale float32)
TEXT ·keepVector(SB), NOSPLIT, $0-80
	MOVQ         y_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	MOVQ         words_base+48(FP), DX
	VBROADCASTSS scale+76(FP), Y2
	VBROADCASTSS least+72(FP), Y3
	RUN(KEEPEIGHT, KEEPTAIL)
