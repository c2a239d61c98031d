package eventlog

import "slices"

// Reopen returns a log with the batches and keys of a closed one, which must not be used any more.
func (m *Memory) Reopen() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	again := &Memory{batches: slices.Clone(m.batches), forgot: m.forgot, keys: m.keys, removals: m.removals}
	again.removed.Advance(m.removed.Last())
	again.tail.Advance(m.tail.Last())
	return again
}
