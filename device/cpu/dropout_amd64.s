#include "textflag.h"
#include "run_amd64.h"

// Philox for eight counters at a time. Each word of the eight is spread over two registers of four 64-bit lanes, whose upper halves
// hold rubbish: even counters in Y0 … Y3, odd ones in Y4 … Y7, Y8 and Y9 scratch. Keys in Y10 and Y11, multipliers in Y12
// and Y13.

DATA philoxLanes<>+0(SB)/8, $0
DATA philoxLanes<>+8(SB)/8, $2
DATA philoxLanes<>+16(SB)/8, $4
DATA philoxLanes<>+24(SB)/8, $6
GLOBL philoxLanes<>(SB), (RODATA|NOPTR), $32

#define EIGHT(name, bits) \
	DATA name<>+0(SB)/8, $bits  \
	DATA name<>+8(SB)/8, $bits  \
	DATA name<>+16(SB)/8, $bits \
	DATA name<>+24(SB)/8, $bits \
	GLOBL name<>(SB), (RODATA|NOPTR), $32

EIGHT(philoxOne, 1)
EIGHT(philoxMul0, 0xD2511F53)
EIGHT(philoxMul1, 0xCD9E8D57)
EIGHT(philoxAdd0, 0x9E3779B9)
EIGHT(philoxAdd1, 0xBB67AE85)

// HALF(c0, c1, c2, c3, t, u) is a round of four counters; c1 and c3 are then in u and t.
#define HALF(c0, c1, c2, c3, t, u) \
	VPMULUDQ c0, Y12, t   \
	VPMULUDQ c2, Y13, u   \
	VPSRLQ   $32, u, c0   \
	VPXOR    c1, c0, c0   \
	VPXOR    Y10, c0, c0  \
	VPSRLQ   $32, t, c2   \
	VPXOR    c3, c2, c2   \
	VPXOR    Y11, c2, c2

#define NEXTKEY \
	VPADDD philoxAdd0<>(SB), Y10, Y10 \
	VPADDD philoxAdd1<>(SB), Y11, Y11

// A round needs two free registers, of which each half leaves behind two others. The names follow the words.
#define PHILOX8 \
	HALF(Y0, Y1, Y2, Y3, Y8, Y9) \
	HALF(Y4, Y5, Y6, Y7, Y3, Y1) \
	NEXTKEY                      \
	HALF(Y0, Y9, Y2, Y8, Y7, Y5) \
	HALF(Y4, Y1, Y6, Y3, Y8, Y9) \
	NEXTKEY                      \
	HALF(Y0, Y5, Y2, Y7, Y3, Y1) \
	HALF(Y4, Y9, Y6, Y8, Y7, Y5) \
	NEXTKEY                      \
	HALF(Y0, Y1, Y2, Y3, Y8, Y9) \
	HALF(Y4, Y5, Y6, Y7, Y3, Y1) \
	NEXTKEY                      \
	HALF(Y0, Y9, Y2, Y8, Y7, Y5) \
	HALF(Y4, Y1, Y6, Y3, Y8, Y9) \
	NEXTKEY                      \
	HALF(Y0, Y5, Y2, Y7, Y3, Y1) \
	HALF(Y4, Y9, Y6, Y8, Y7, Y5) \
	NEXTKEY                      \
	HALF(Y0, Y1, Y2, Y3, Y8, Y9) \
	HALF(Y4, Y5, Y6, Y7, Y3, Y1) \
	JOIN(Y0, Y4)                 \
	JOIN(Y9, Y1)                 \
	JOIN(Y2, Y6)                 \
	JOIN(Y8, Y3)

// JOIN puts the odd counters' words between the even ones'.
#define JOIN(even, odd) \
	VPSLLQ   $32, odd, odd          \
	VPBLENDD $0xaa, odd, even, even

// COUNT8 sets eight counters from SI on, a multiple of eight, and the keys.
#define COUNT8(stream, key0, key1) \
	VMOVQ        SI, X0                    \
	VPBROADCASTQ X0, Y0                    \
	VPSRLQ       $32, Y0, Y1               \
	VPADDD       philoxLanes<>(SB), Y0, Y0 \
	VPADDD       philoxOne<>(SB), Y0, Y4   \
	VMOVDQA      Y1, Y5                    \
	VBROADCASTSS stream, Y2                \
	VMOVDQA      Y2, Y6                    \
	VPXOR        Y3, Y3, Y3                \
	VPXOR        Y7, Y7, Y7                \
	VBROADCASTSS key0, Y10                 \
	VBROADCASTSS key1, Y11

// func drawVector(words []uint32, first uint64, stream, key0, key1 uint32)
TEXT ·drawVector(SB), NOSPLIT, $0-44
	MOVQ    words_base+0(FP), DI
	MOVQ    words_len+8(FP), CX
	MOVQ    first+24(FP), SI
	VMOVDQU philoxMul0<>(SB), Y12
	VMOVDQU philoxMul1<>(SB), Y13
	SUBQ    $32, CX
	JLT     done

block:
	COUNT8(stream+32(FP), key0+36(FP), key1+40(FP))
	PHILOX8
	VMOVDQU Y0, (DI)
	VMOVDQU Y9, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y8, 96(DI)
	ADDQ    $8, SI
	ADDQ    $128, DI
	SUBQ    $32, CX
	JGE     block

done:
	VZEROUPPER
	RET

// KEEPWORDS keeps eight numbers where their words are at least Y15, times Y14.
#define KEEPWORDS(words, at, s) \
	VPMAXUD  words, Y15, s       \
	VPCMPEQD words, s, s         \
	VMULPS   at(DX), Y14, words  \
	VANDPS   s, words, words     \
	VMOVUPS  words, at(DI)

// func dropVector(y, x []float32, first uint64, stream, key0, key1, least uint32, scale float32)
// Draws and keeps whole blocks of 32 numbers.
TEXT ·dropVector(SB), NOSPLIT, $0-76
	MOVQ         y_base+0(FP), DI
	MOVQ         x_base+24(FP), DX
	MOVQ         x_len+32(FP), CX
	MOVQ         first+48(FP), SI
	VMOVDQU      philoxMul0<>(SB), Y12
	VMOVDQU      philoxMul1<>(SB), Y13
	VBROADCASTSS scale+72(FP), Y14
	VBROADCASTSS least+68(FP), Y15
	SUBQ         $32, CX
	JLT          done

block:
	COUNT8(stream+56(FP), key0+60(FP), key1+64(FP))
	PHILOX8
	KEEPWORDS(Y0, 0, Y1)
	KEEPWORDS(Y9, 32, Y3)
	KEEPWORDS(Y2, 64, Y4)
	KEEPWORDS(Y8, 96, Y5)
	ADDQ $8, SI
	ADDQ $128, DX
	ADDQ $128, DI
	SUBQ $32, CX
	JGE  block

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
