#include "textflag.h"
#include "go_asm.h"

// Gather and ScatterAdd for a run of 32, 16, 8, 4, 2 or 1 columns: a row of y stays in registers while its table rows are added
// to it, or it to them.
//
// SI y, R8 table, R9 row numbers, R10 row numbers in each row of y, R11 bytes between table rows, CX rows of y left

#define BEGIN \
	MOVQ a+0(FP), DI              \
	MOVQ tableColumns_y(DI), SI     \
	MOVQ tableColumns_table(DI), R8 \
	MOVQ tableColumns_rows(DI), R9  \
	MOVQ tableColumns_per(DI), R10  \
	MOVQ tableColumns_tableStep(DI), R11 \
	MOVQ tableColumns_count(DI), CX

// EACH runs body with AX at the table row, for every row number that is not negative.
#define EACH(body) \
	MOVQ    R10, BX   \
entry:                \
	MOVLQSX (R9), AX  \
	ADDQ    $4, R9    \
	TESTQ   AX, AX    \
	JLT     absent    \
	IMULQ   R11, AX   \
	ADDQ    R8, AX    \
	body              \
absent:               \
	DECQ    BX        \
	JNZ     entry

#define END \
	ADDQ tableColumns_yStep(DI), SI \
	DECQ CX   \
	JNZ  next \
	VZEROUPPER \
	RET

#define SUM32 \
	VADDPS (AX), Y0, Y0   \
	VADDPS 32(AX), Y1, Y1 \
	VADDPS 64(AX), Y2, Y2 \
	VADDPS 96(AX), Y3, Y3

#define ADD32 \
	VADDPS  (AX), Y0, Y4   \
	VADDPS  32(AX), Y1, Y5 \
	VADDPS  64(AX), Y2, Y6 \
	VADDPS  96(AX), Y3, Y7 \
	VMOVUPS Y4, (AX)       \
	VMOVUPS Y5, 32(AX)     \
	VMOVUPS Y6, 64(AX)     \
	VMOVUPS Y7, 96(AX)

#define SUM16 \
	VADDPS (AX), Y0, Y0   \
	VADDPS 32(AX), Y1, Y1

#define ADD16 \
	VADDPS  (AX), Y0, Y4   \
	VADDPS  32(AX), Y1, Y5 \
	VMOVUPS Y4, (AX)       \
	VMOVUPS Y5, 32(AX)

#define SUM8 VADDPS (AX), Y0, Y0

#define ADD8 \
	VADDPS  (AX), Y0, Y4 \
	VMOVUPS Y4, (AX)

#define SUM4 VADDPS (AX), X0, X0

#define ADD4 \
	VADDPS  (AX), X0, X4 \
	VMOVUPS X4, (AX)

#define SUM2 \
	VMOVSD (AX), X4   \
	VADDPS X4, X0, X0

#define ADD2 \
	VMOVSD (AX), X4   \
	VADDPS X4, X0, X4 \
	VMOVSD X4, (AX)

#define SUM1 VADDSS (AX), X0, X0

#define ADD1 \
	VADDSS (AX), X0, X4 \
	VMOVSS X4, (AX)

// One entry for all widths. The loops share its frame.

// func gatherColumns(a *tableColumns)
TEXT ·gatherColumns(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	MOVQ tableColumns_cols(DI), AX
	CMPQ AX, $32
	JLT  below32
	JMP  gather32<>(SB)

below32:
	CMPQ AX, $16
	JLT  below16
	JMP  gather16<>(SB)

below16:
	CMPQ AX, $8
	JLT  below8
	JMP  gather8<>(SB)

below8:
	CMPQ AX, $4
	JLT  below4
	JMP  gather4<>(SB)

below4:
	CMPQ AX, $2
	JLT  below2
	JMP  gather2<>(SB)

below2:
	JMP  gather1<>(SB)

// func scatterColumns(a *tableColumns)
TEXT ·scatterColumns(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), DI
	MOVQ tableColumns_cols(DI), AX
	CMPQ AX, $32
	JLT  below32
	JMP  scatter32<>(SB)

below32:
	CMPQ AX, $16
	JLT  below16
	JMP  scatter16<>(SB)

below16:
	CMPQ AX, $8
	JLT  below8
	JMP  scatter8<>(SB)

below8:
	CMPQ AX, $4
	JLT  below4
	JMP  scatter4<>(SB)

below4:
	CMPQ AX, $2
	JLT  below2
	JMP  scatter2<>(SB)

below2:
	JMP  scatter1<>(SB)

TEXT gather32<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS  Y0, Y0, Y0
	VXORPS  Y1, Y1, Y1
	VXORPS  Y2, Y2, Y2
	VXORPS  Y3, Y3, Y3
	EACH(SUM32)
	VMOVUPS Y0, (SI)
	VMOVUPS Y1, 32(SI)
	VMOVUPS Y2, 64(SI)
	VMOVUPS Y3, 96(SI)
	END

TEXT gather16<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS  Y0, Y0, Y0
	VXORPS  Y1, Y1, Y1
	EACH(SUM16)
	VMOVUPS Y0, (SI)
	VMOVUPS Y1, 32(SI)
	END

TEXT gather8<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS  Y0, Y0, Y0
	EACH(SUM8)
	VMOVUPS Y0, (SI)
	END

TEXT gather4<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS  X0, X0, X0
	EACH(SUM4)
	VMOVUPS X0, (SI)
	END

TEXT gather2<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS X0, X0, X0
	EACH(SUM2)
	VMOVSD X0, (SI)
	END

TEXT gather1<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VXORPS X0, X0, X0
	EACH(SUM1)
	VMOVSS X0, (SI)
	END

TEXT scatter32<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	EACH(ADD32)
	END

TEXT scatter16<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	EACH(ADD16)
	END

TEXT scatter8<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVUPS (SI), Y0
	EACH(ADD8)
	END

TEXT scatter4<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVUPS (SI), X0
	EACH(ADD4)
	END

TEXT scatter2<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVSD (SI), X0
	EACH(ADD2)
	END

TEXT scatter1<>(SB), NOSPLIT, $0-8
	BEGIN

next:
	VMOVSS (SI), X0
	EACH(ADD1)
	END
