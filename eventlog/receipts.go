package eventlog

import "crypto/sha256"

// KeptKeys is how many idempotency keys a log remembers: the latest million. A batch whose key came before those is
// taken as a new one.
const KeptKeys = 1_000_000

// Receipts remembers the latest keys of a log, for engines. It keeps 16 bytes of each key's SHA-256, some 60 bytes a
// key in all. It is not safe for concurrent use.
type Receipts struct {
	limit int
	known map[digest]given
	order []digest // a ring once it is full
	next  int      // where the ring goes on
}

type digest [16]byte

type given struct {
	last     uint64
	accepted int32
}

// NewReceipts remembers the latest keys, as many as limit.
func NewReceipts(limit int) *Receipts {
	return &Receipts{limit: limit, known: map[digest]given{}}
}

// Find returns what was answered to a key that is remembered, as an answer to its repetition. "" is no key.
func (r *Receipts) Find(key string) (Receipt, bool) {
	if key == "" {
		return Receipt{}, false
	}
	g, ok := r.known[hash(key)]
	return Receipt{Last: g.last, Accepted: int(g.accepted), Again: ok}, ok
}

// Add remembers a key that Find does not know, and forgets the oldest one if there are too many.
func (r *Receipts) Add(key string, to Receipt) {
	if key == "" {
		return
	}
	d := hash(key)
	r.known[d] = given{to.Last, int32(to.Accepted)}
	if len(r.order) < r.limit {
		r.order = append(r.order, d)
		return
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = d
	r.next = (r.next + 1) % r.limit
}

// Len is the number of keys that are remembered.
func (r *Receipts) Len() int { return len(r.order) }

func hash(key string) digest {
	sum := sha256.Sum256([]byte(key))
	return digest(sum[:16])
}
