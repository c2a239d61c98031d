package eventlog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// KeptKeys is how many idempotency keys a log remembers: the latest million. A batch whose key came before those is
// taken as a new one.
const KeptKeys = 1_000_000

// boundMark separates a key from the hash of its content, which has boundHash characters.
const (
	boundMark = "\x00sha256:"
	boundHash = 22
)

// BindKey binds a key to the content of its request. A log that has seen the key with other content takes nothing, and
// says so in the receipt.
func BindKey(key, content string) string {
	sum := sha256.Sum256([]byte(content))
	return key + boundMark + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Receipts remembers the latest keys of a log. It is for implementations, and not safe for concurrent use. A key takes
// about 70 bytes.
type Receipts struct {
	limit int
	known map[digest]given
	order []digest // a ring once it is full
	next  int      // where the ring goes on
}

type digest [16]byte

type given struct {
	last     uint64
	content  uint64 // 0: the key is not bound to any
	accepted int32
}

// NewReceipts remembers the latest keys, as many as limit.
func NewReceipts(limit int) *Receipts {
	return &Receipts{limit: limit, known: map[digest]given{}}
}

// Find returns what was answered to a key that is remembered, as an answer to its repetition. "" is no key.
func (r *Receipts) Find(key string) (Receipt, bool) {
	d, content := digests(key)
	g, ok := r.known[d]
	if key == "" || !ok {
		return Receipt{}, false
	}
	differs := content != 0 && g.content != 0 && content != g.content
	return Receipt{Last: g.last, Accepted: int(g.accepted), Again: true, Differs: differs}, true
}

// Add remembers a key that Find does not know, and forgets the oldest one if there are too many.
func (r *Receipts) Add(key string, to Receipt) {
	if key == "" {
		return
	}
	d, content := digests(key)
	r.known[d] = given{to.Last, content, int32(to.Accepted)}
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

// digests are hashes of a key's name and of its content; the latter is 0 if the key is not bound.
func digests(key string) (digest, uint64) {
	content := uint64(0)
	if at := len(key) - len(boundMark) - boundHash; at >= 0 && strings.HasPrefix(key[at:], boundMark) {
		of := sha256.Sum256([]byte(key[at+len(boundMark):]))
		key, content = key[:at], max(1, binary.LittleEndian.Uint64(of[:8]))
	}
	sum := sha256.Sum256([]byte(key))
	return digest(sum[:16]), content
}
