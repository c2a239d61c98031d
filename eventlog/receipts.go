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
// about 40 bytes. They are added to chunks that never move, so that memory grows with the keys and not by doubling.
type Receipts struct {
	limit  int
	count  int       // of keys
	next   int       // the oldest, which the next one replaces, once there are as many as limit
	chunks [][]given // a ring once it is full
	places []uint32  // a hash table: the number of a key plus one, 0 where there is none; at least a quarter is free
}

// given is a key and what was answered to it.
type given struct {
	key     digest
	content uint64 // 0: the key is not bound to any
	answer  answer
}

// answer is a receipt in 8 bytes: the number of events in the lowest bits, and above them the last sequence.
type answer uint64

const acceptedBits = 21 // MaxEvents fits

func newAnswer(r Receipt) answer { return answer(r.Last<<acceptedBits | uint64(r.Accepted)) }

func (a answer) receipt() Receipt {
	return Receipt{Last: uint64(a >> acceptedBits), Accepted: int(a & (1<<acceptedBits - 1))}
}

type digest [16]byte

const keyChunk = 4096

// NewReceipts remembers the latest keys, as many as limit.
func NewReceipts(limit int) *Receipts { return &Receipts{limit: limit, places: make([]uint32, 64)} }

// Find returns what was answered to a key that is remembered, as an answer to its repetition. "" is no key.
func (r *Receipts) Find(key string) (Receipt, bool) {
	if key == "" {
		return Receipt{}, false
	}
	d, content := digests(key)
	n := r.places[r.place(d)]
	if n == 0 {
		return Receipt{}, false
	}
	g := r.at(int(n - 1))
	receipt := g.answer.receipt()
	receipt.Again, receipt.Differs = true, content != 0 && g.content != 0 && content != g.content
	return receipt, true
}

// Add remembers a key that Find does not know, and forgets the oldest one if there are too many.
func (r *Receipts) Add(key string, to Receipt) {
	if key == "" {
		return
	}
	d, content := digests(key)
	number := r.next
	if r.count < r.limit {
		number = r.count
		if number%keyChunk == 0 {
			r.chunks = append(r.chunks, make([]given, min(keyChunk, r.limit-number)))
		}
		if r.count++; r.count > len(r.places)/4*3 {
			r.grow(number)
		}
	} else {
		r.forget(r.at(number).key)
		r.next = (number + 1) % r.limit
	}
	*r.at(number) = given{d, content, newAnswer(to)}
	r.places[r.place(d)] = uint32(number + 1)
}

// Len is the number of keys that are remembered.
func (r *Receipts) Len() int { return r.count }

func (r *Receipts) at(number int) *given { return &r.chunks[number/keyChunk][number%keyChunk] }

// home is the place where the search for a key begins. The length of places is a power of two.
func (r *Receipts) home(d digest) int {
	return int(binary.LittleEndian.Uint64(d[:8]) & uint64(len(r.places)-1))
}

// place is that of a key, or the free one where it belongs.
func (r *Receipts) place(d digest) int {
	i := r.home(d)
	for r.places[i] != 0 && r.at(int(r.places[i]-1)).key != d {
		i = (i + 1) % len(r.places)
	}
	return i
}

// grow makes a table of twice the size of the first keys.
func (r *Receipts) grow(keys int) {
	r.places = make([]uint32, 2*len(r.places))
	for n := range keys {
		r.places[r.place(r.at(n).key)] = uint32(n + 1)
	}
}

// forget removes a key from the table. Those after it that were not put where their search begins move up, so that no
// search ends too early.
func (r *Receipts) forget(d digest) {
	free := r.place(d)
	r.places[free] = 0
	for i := (free + 1) % len(r.places); r.places[i] != 0; i = (i + 1) % len(r.places) {
		home := r.home(r.at(int(r.places[i] - 1)).key)
		if (i-home+len(r.places))%len(r.places) >= (i-free+len(r.places))%len(r.places) {
			r.places[free], r.places[i] = r.places[i], 0
			free = i
		}
	}
}

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
