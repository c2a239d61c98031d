package messages

import (
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/tensor"
)

// banks are the two names under which memories stand there.
var banks = []string{"0.memory_bank.", "0.memory_updater.memory_bank."}

// Ignored tells memories in a released checkpoint, which are observed again.
func Ignored(name string) bool {
	return slices.ContainsFunc(banks, func(bank string) bool { return strings.HasPrefix(name, bank) })
}

// encoder is the name of the time encoder there, and again its second name in models that embed by attention.
const encoder, again = "0.time_encoder.", "0.embedding_module.time_encoder."

// IgnoredToo tells memories, and the second name of the time encoder.
func IgnoredToo(name string) bool { return Ignored(name) || strings.HasPrefix(name, again) }

// ReleasedToo is what IgnoredToo tells of.
func ReleasedToo(params, state []tensor.Named) []tensor.Named {
	return append(model.Again(params, encoder, again), Released(nil, state)...)
}

// Released is what a snapshot is in the state dicts of the released programs: memories and the times they are of, under
// two names each. Messages that wait are in none, these programs keep them in a second file.
func Released(_, state []tensor.Named) []tensor.Named {
	memory, known := tensor.Find(state, "memory")
	updated, timed := tensor.Find(state, "last_updated")
	if !known || !timed {
		return nil
	}
	times := make([]float32, len(updated.Data)/2) // [nodes], of two parts each
	for i := range times {
		times[i] = updated.Data[2*i] + updated.Data[2*i+1]
	}
	var list []tensor.Named
	for _, place := range banks {
		list = append(list,
			tensor.Named{Name: place + "node_memories", Shape: memory.Shape, Data: memory.Data},
			tensor.Named{Name: place + "node_last_updated_times", Shape: []int{len(times)}, Data: times})
	}
	return list
}
