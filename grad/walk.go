package grad

import (
	"fmt"

	"github.com/dygmamba/dygmamba/tensor"
)

// NoteUses lets the tape note where each parameter is used first, until it is told not to. Call it right after Reset.
// FirstUse then says how far a walk back must come before a gradient is final.
func (tp *Tape) NoteUses(on bool) {
	switch {
	case !on:
		tp.uses = nil
	case tp.noted == nil:
		tp.noted = map[*tensor.Tensor]int{}
		fallthrough
	default:
		tp.uses = tp.noted
		clear(tp.uses)
	}
}

// FirstUse is the number of the first operation of this step that a parameter goes into. Its gradient is final once
// WalkBack has passed it. A parameter that nothing uses has the number of operations there are.
func (tp *Tape) FirstUse(p *tensor.Tensor) int {
	if i, ok := tp.uses[p]; ok {
		return i
	}
	return tp.used
}

// StartBack begins a backward pass in parts, for which WalkBack then is called. It reports whether there is a gradient
// at all. Backward does both.
func (tp *Tape) StartBack(loss *tensor.Tensor) bool {
	if loss.Len() != 1 {
		panic(tensor.Mismatch("backward", "a loss of one element", loss.Shape()))
	}
	tp.walk = 0
	if !tp.record || !loss.Tracked {
		return false
	}
	tp.walk = tp.used
	tp.GiveCopy(loss, tp.constants.Slice(1, 2).Mat(1, 1))
	return true
}

// WalkBack goes back through the operations that are left, down to number to, and calls between, which may be nil,
// after each. The step ends at 0.
func (tp *Tape) WalkBack(to int, between func()) {
	for tp.walk > to {
		tp.walk--
		tp.ops[tp.walk].Backward(tp)
		if between != nil {
			between()
		}
	}
	if to == 0 {
		tp.used = 0
	}
}

// note remembers the first use of a parameter.
func (tp *Tape) note(x *tensor.Tensor) {
	if tp.uses == nil || x.Of == nil {
		return
	}
	if _, ok := tp.uses[x.Of]; !ok {
		tp.uses[x.Of] = tp.used
	}
}

// touch notes in a parameter that a gradient has reached it.
func (tp *Tape) touch(x *tensor.Tensor) {
	x.Touched = true
	if x.Of == nil {
		return
	}
	x.Of.Touched = true
	if tp.uses != nil {
		if first, ok := tp.uses[x.Of]; !ok || first > tp.walk {
			panic(fmt.Sprintf("grad: operation %d has a gradient for a parameter %v that it did not ask about with "+
				"Tracks or Result", tp.walk, x.Of.Shape()))
		}
	}
}
