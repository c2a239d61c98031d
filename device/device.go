// Package device answers: who stores and multiplies floats?
//
// A Device owns memory and runs kernels on it. Package grad decides which kernels run and checks shapes once; kernels
// trust their arguments. Two rules hold for every kernel:
//
//   - gradients of activations are overwritten, gradients of parameters are added to;
//   - results do not depend on the number of threads, and the same call gives the same bits every time.
//
// Everything that may change from step to step (inputs, dropout keys, the optimizer's step number) lies in device
// memory, never in an argument, so that a whole step can be captured once and replayed.
package device

import (
	"errors"
	"fmt"
)

// ErrUnavailable says that a device cannot be opened on this machine; the wrapping error says why.
var ErrUnavailable = errors.New("device unavailable")

// OutOfMemory is the panic value of Alloc.
type OutOfMemory struct {
	Device     string
	Need, Free int64 // bytes asked for; bytes left
}

func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%s: out of memory: need %d MiB, have %d MiB", e.Device, e.Need>>20, e.Free>>20)
}

// Failure is the panic value of a kernel or a copy that the device reported as failed.
type Failure struct {
	Device string
	Call   string // what was called, with its arguments' shapes
	Reason string // in the device's own words
}

func (e *Failure) Error() string { return fmt.Sprintf("%s: %s: %s", e.Device, e.Call, e.Reason) }

// Buffer is a run of float32 in a device's memory. It is a value: copying or slicing one copies no data.
type Buffer struct {
	Host []float32 // the memory itself on the CPU, nil elsewhere
	Addr uintptr   // the address in the device's memory elsewhere
	Len  int
}

// Slice is the part [lo, hi) of b.
func (b Buffer) Slice(lo, hi int) Buffer {
	host, addr := slice(b.Host, b.Addr, lo, hi)
	return Buffer{host, addr, hi - lo}
}

// Mat views the first rows·cols numbers of b as a dense row-major matrix.
func (b Buffer) Mat(rows, cols int) Mat { return Mat{b, rows, cols, cols} }

// Ints is a run of int32 in a device's memory: indices, masks and counters.
type Ints struct {
	Host []int32
	Addr uintptr
	Len  int
}

// Slice is the part [lo, hi) of b.
func (b Ints) Slice(lo, hi int) Ints {
	host, addr := slice(b.Host, b.Addr, lo, hi)
	return Ints{host, addr, hi - lo}
}

func slice[T any](host []T, addr uintptr, lo, hi int) ([]T, uintptr) {
	if host != nil {
		host = host[lo:hi:hi]
	}
	if addr != 0 {
		addr += 4 * uintptr(lo)
	}
	return host, addr
}

// Mat is a row-major matrix; row r starts at r·Stride. The zero Mat stands for "not given".
type Mat struct {
	Buf                Buffer
	Rows, Cols, Stride int
}

// Dense reports whether rows follow each other without gaps.
func (m Mat) Dense() bool { return m.Stride == m.Cols || m.Rows <= 1 }

// Given reports whether m is an argument at all.
func (m Mat) Given() bool { return m.Buf.Len > 0 }

// Columns is the view of columns [lo, hi).
func (m Mat) Columns(lo, hi int) Mat {
	return Mat{m.Buf.Slice(min(lo, m.Buf.Len), m.Buf.Len), m.Rows, hi - lo, m.Stride}
}

// Band is the view of rows [lo, hi).
func (m Mat) Band(lo, hi int) Mat {
	return Mat{m.Buf.Slice(min(lo*m.Stride, m.Buf.Len), m.Buf.Len), hi - lo, m.Cols, m.Stride}
}

// Device stores floats and runs kernels. Calls come from one goroutine at a time.
type Device interface {
	Memory
	Matrices
	Pointwise
	Rows
	Sequences
	Tables
	Learning
}

// Memory moves floats in and out.
type Memory interface {
	Name() string
	Alloc(n int) Buffer // zeroed; panics with *OutOfMemory
	Free(b Buffer)
	AllocInts(n int) Ints
	FreeInts(b Ints)
	Write(dst Buffer, src []float32)
	WriteInts(dst Ints, src []int32)
	Read(dst []float32, src Buffer) // waits for everything enqueued before
	Zero(b Buffer)
	Sync()
	Close() error
}

// Matrices multiplies.
type Matrices interface {
	// MatMul computes C = A·B (see Gemm). Shapes after transposition: A [M,K], B [K,N], C [M,N].
	MatMul(c, a, b Mat, g Gemm)
	// Transpose writes y[b,j,i] = x[b,i,j] for batch matrices of rows × cols.
	Transpose(y, x Buffer, batch, rows, cols int)
}

// Gemm says how a product is taken.
type Gemm struct {
	TransA, TransB bool   // A or B is stored transposed
	Acc            bool   // C += A·B instead of C = A·B; then no bias and no activation
	Bias           Buffer // [N], added to every row when given
	Act            Act    // applied to the sum
	Pre            Mat    // when given, receives C before Act
	Drop           Drop   // applied last, to a single matrix
	// Batch > 1 multiplies that many matrices; the operands' Mats describe the first, Step* the distance to the next
	// (0: the same).
	Batch               int
	StepA, StepB, StepC int
}

// Act is a function of one number.
type Act uint8

// The activations. GELU is the exact one (erf), Softplus is linear above 20.
const (
	Identity Act = iota
	ReLU
	GELU
	SiLU
	Sigmoid
	Tanh
	Softplus
	Exp
	Cos
)

// Op is a function of two numbers.
type Op uint8

// The binary operations.
const (
	Add Op = iota
	Sub
	Mul
)

// Pointwise kernels work on each number alone. Matrices of one call have the same rows and columns.
type Pointwise interface {
	Map(op Act, y, x Mat)
	// y = Map(op, x), and dy is dropped first; a kernel reads x or y, whichever it needs, the other may be absent only
	// for Identity
	MapGrad(op Act, dx, x, y, dy Mat, drop Drop)
	Zip(op Op, z, x, y Mat)
	ZipRow(op Op, z, x Mat, v Buffer) // v [Cols] against every row
	ZipCol(op Op, z, x Mat, v Buffer) // v[r] against row r
	Scale(y, x Mat, a float32)        // y = a·x
	Copy(y, x Mat)
	Dropout(y, x Mat, p Drop)
}

// Drop keeps each number with probability 1−Rate and scales it by 1/(1−Rate). Whether element i is kept depends on
// (Key, Stream, i) alone: the backward pass is the same call on the gradient.
type Drop struct {
	Rate   float32
	Key    Ints   // two words in device memory, new each step
	Stream uint32 // which of the step's dropouts
}

// Rows kernels reduce or normalise rows.
type Rows interface {
	ColSum(y Buffer, x Mat, acc bool) // y[c] = Σ_r x[r,c]
	RowSum(y Buffer, x Mat)           // y[r] = Σ_c x[r,c]
	Norm(n Norm)
	NormGrad(n NormGrad)
	Softmax(y, x Mat, mask Ints, fill float32) // mask [Rows·Cols] or empty; where it is 0, x counts as fill
	SoftmaxGrad(dx, y, dy Mat)
}

// Norm is LayerNorm over X, or over X+Residual: y = (s−mean)/√(var+Eps)·Gamma + Beta with the biased variance.
type Norm struct {
	X, Residual Mat    // when Residual is given, X is overwritten by the sum
	Gamma, Beta Buffer // [Cols]
	Eps         float32
	Stats       Buffer // [2·Rows]: mean, then 1/√(var+Eps); kept for the gradient
	Y           Mat
}

// NormGrad is its gradient; X holds the sum. DX belongs to X and to Residual alike.
type NormGrad struct {
	Norm
	DY, DX        Mat
	DGamma, DBeta Buffer // added to
}

// Sequences kernels read rows grouped as Batch sequences of Len steps: row b·Len+t.
type Sequences interface {
	Conv(c Conv)
	ConvGrad(c ConvGrad)
	Scan(s Scan)
	ScanGrad(s ScanGrad)
	Attention(a Attention)
	AttentionGrad(a AttentionGrad)
	TimeCode(t TimeCode)
	TimeCodeGrad(t TimeCodeGrad)
	// Pool, Dot and Outer are the three products of weights w [B,P], vectors a [B,D] and sequences h [B·P, D];
	// the gradient of each is made of the other two.
	Pool(y, w, h Mat)            // y[b,:] = Σ_j w[b,j]·h[b,j,:]
	Dot(w, a, h Mat)             // w[b,j] = Σ_c a[b,c]·h[b,j,c]
	Outer(h, w, a Mat, acc bool) // h[b,j,:] = w[b,j]·a[b,:]
	GRU(g Cell)                  // see Cell
	GRUGrad(g CellGrad)          //
	LSTM(g Cell)                 //
	LSTMGrad(g CellGrad)         //
}

// Conv is a causal depthwise convolution with SiLU: y[t,c] = SiLU(Bias[c] + Σ_j W[c,j]·x[t−(Kernel−1)+j, c]), x before
// time 0 being 0.
type Conv struct {
	Batch, Len, Width, Kernel int
	X                         Mat    // [B·L, D]
	W, Bias                   Buffer // [D·K], [D]
	Y                         Mat    // [B·L, D]
}

// ConvGrad is its gradient.
type ConvGrad struct {
	Conv
	DY, DX    Mat
	DW, DBias Buffer // added to
}

// Scan is the selective state space recurrence, with A = −exp(ALog):
//
//	h[c,i] ← exp(Δ[t,c]·A[c,i])·h[c,i] + B̄[t,c,i]·u[t,c]
//	y[t,c] = (Σ_i C[t,i]·h[c,i] + Skip[c]·u[t,c]) · SiLU(Gate[t,c])
//
// B̄ is Δ·B (Euler), or (exp(ΔA)−1)/A·B when Exact.
type Scan struct {
	Batch, Len, Width, State int
	U, Delta                 Mat    // [B·L, D]
	ALog                     Buffer // [D·N]
	B, C                     Mat    // [B·L, N]
	Skip                     Buffer // [D]; absent: no skip
	Gate                     Mat    // [B·L, D]; absent: no gate
	Exact                    bool
	Y                        Mat // [B·L, D]
}

// ScanGrad is its gradient; states are computed again, not kept.
type ScanGrad struct {
	Scan
	DY                 Mat
	DU, DDelta, DB, DC Mat
	DGate              Mat    // when Gate is given
	DALog, DSkip       Buffer // added to
}

// Attention is multi-head attention for short sequences: softmax(Scale·Q·Kᵀ, masked)·V, head h in columns [h·HeadDim,
// (h+1)·HeadDim).
type Attention struct {
	Batch, Heads, Queries, Keys, HeadDim int
	Q                                    Mat // [B·Queries, H·HeadDim]
	K, V                                 Mat // [B·Keys, H·HeadDim]
	Scale                                float32
	Mask                                 Ints    // [B·Keys] or empty; key j of b counts as Fill where 0
	Fill                                 float32 // −1e10, or −Inf
	Drop                                 Drop    // on the weights; Rate 0 for none
	Weights                              Buffer  // [B·H·Queries·Keys] before dropout; kept for the gradient
	Y                                    Mat     // [B·Queries, H·HeadDim]
}

// AttentionGrad is its gradient.
type AttentionGrad struct {
	Attention
	DY, DQ, DK, DV Mat
}

// TimeCode is y[r,c] = cos(W[c]·Delta[r] + Bias[c]), product and sum each rounded to float32 and the cosine's range
// reduction exact for arguments to 1e10; rows with Mask 0 are zero.
type TimeCode struct {
	Delta   Buffer // [n]
	W, Bias Buffer // [d]
	Mask    Ints   // [n] or empty
	Y       Mat    // [n, d]
}

// TimeCodeGrad is its gradient.
type TimeCodeGrad struct {
	TimeCode
	DY        Mat
	DW, DBias Buffer // added to
}

// Cell is the pointwise part of a recurrent cell after its two products. X and H are the input's and the state's
// products, biases included.
//
//	GRU  (3H wide, order r z n): r=σ(Xr+Hr) z=σ(Xz+Hz) n=tanh(Xn+r·Hn); NewState = (1−z)·n + z·State
//	LSTM (4H wide, order i f g o): NewCarry = σ(f)·Carry + σ(i)·tanh(g); NewState = σ(o)·tanh(NewCarry),
//	     gates from X+H
type Cell struct {
	X, H            Mat
	State, NewState Mat // [n, H]
	Carry, NewCarry Mat // [n, H], LSTM only
}

// CellGrad is its gradient.
type CellGrad struct {
	Cell
	DNewState, DNewCarry   Mat
	DX, DH, DState, DCarry Mat
}

// Tables kernels read and write rows by number.
type Tables interface {
	// Gather writes y[r,:] = Σ_{m<per} table[rows[r·per+m], :]; a negative row number counts as a row of zeros.
	Gather(y, table Mat, rows Ints, per int)
	// ScatterAdd adds y[r,:] to table[rows[r·per+m], :], in an order fixed by the arguments.
	ScatterAdd(table, y Mat, rows Ints, per int)
	// Assign writes table[rows[r], :] = y[r, :]. A negative row number writes nothing; of several equal ones the last
	// r wins. y must not lie in the table.
	Assign(table, y Mat, rows Ints)
	DecayedProducts(p DecayedProducts) // see DecayedProducts
}

// DecayLevels is the number of levels in a row of vectors that decay, beside level 0.
const DecayLevels = 3

// DecayedProducts takes inner products of vectors in rows of a table. The higher its level, the faster a vector decays.
// A row of Table has a vector of level 0, which stays, and then for each scale s those of levels 1 to DecayLevels; a
// row of some age has them decayed by e^(−Rates[s]·level·age). For each scale, the 4 vectors of a row Of are held
// against the 8 of the two nodes of a query, the source's first: y = log(1 + max(0, product)), in this order. Position
// i of Of belongs to query (i/Each) mod n; a negative number is a row of zeros. With Pairs the 8 are held against each
// other instead, each two once: 36 products, (0,0), (0,1) … (0,7), (1,1) … (7,7).
type DecayedProducts struct {
	Dim            int
	Table          Mat    // [rows, (1+scales·DecayLevels)·Dim]
	Rates          Buffer // [scales]
	Src, Dst       Ints   // [n]: rows of the queries' nodes
	SrcAge, DstAge Buffer // [n]
	Of             Ints   // [m]
	Age            Buffer // [m]
	Each           int
	Pairs          bool // then there is no Of
	Y              Mat  // [m, scales·32], or [n, scales·36]
}

// Columns is the width of Y.
func (p *DecayedProducts) Columns() int {
	const four = DecayLevels + 1
	if p.Pairs {
		return p.Rates.Len * four * (2*four + 1)
	}
	return p.Rates.Len * four * 2 * four
}

// Learning kernels close the loop.
type Learning interface {
	// BCE writes the mean binary cross-entropy of the logits (log terms held at −100) and, when dlogits is given, its
	// gradient.
	BCE(loss, dlogits, logits, labels Buffer)
	// CE writes the mean over rows of the cross-entropy of softmax(logits) against the row's target column, and, when
	// dlogits is given, its gradient. Logits are [rows, cols], with as many rows as targets. Columns whose mask is 0
	// take no part; an empty mask masks nothing. A row whose target is negative has no loss and no gradient.
	CE(loss, dlogits, logits Buffer, targets, mask Ints)
	Update(u Update)
}

// Rule is a way to move parameters.
type Rule uint8

// The optimizers, as PyTorch defines them.
const (
	Adam Rule = iota
	SGD
	RMSprop
)

// Update moves parameters W against their gradient G. M and V are the rule's running moments (SGD: M is the momentum
// buffer if Beta1 > 0; RMSprop: V).
type Update struct {
	Rule         Rule
	W, G, M, V   Buffer
	Rate         float32
	Beta1, Beta2 float32
	Eps          float32
	WeightDecay  float32
	Step         Ints // [1] in device memory: 1 at the first update
}
