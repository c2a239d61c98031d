package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset"
)

const (
	rightIngest = "ingest" // add events
	rightQuery  = "query"  // score, rank, explain and read the status
	rightAdmin  = "admin"  // change the model and write snapshots

	rightMetrics = "metrics" // read /metrics, which the right query allows too
)

var rights = []string{rightIngest, rightQuery, rightAdmin, rightMetrics}

// Tokens are the tokens of a server with their rights. It holds only hashes of them.
type Tokens struct{ list []token }

type token struct {
	name   string
	rights []string
	hash   [sha256.Size]byte
}

const (
	maxTokenName = 100 // bytes; it is a part of idempotency keys
	minToken     = 16  // characters
)

// ReadTokens reads a file with a line for each token: a name, rights separated by commas, and the token itself or
// "sha256:" and its hash in hexadecimal digits. Empty lines and lines that begin with # are skipped.
func ReadTokens(path string) (*Tokens, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	t := &Tokens{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, found, want := parseToken(line)
		if want != "" {
			return nil, &dataset.InputError{File: path, Line: i + 1, Row: -1, Found: found, Want: want}
		}
		t.list = append(t.list, one)
	}
	if len(t.list) == 0 {
		return nil, &dataset.InputError{File: path, Row: -1,
			Found: "no tokens", Want: "a line for each: NAME RIGHTS TOKEN"}
	}
	return t, nil
}

func parseToken(line string) (t token, found, want string) {
	parts := strings.Fields(line)
	if len(parts) != 3 {
		return t, fmt.Sprintf("%d words", len(parts)), "three: NAME RIGHTS TOKEN, such as: shop ingest,query 6Qw…"
	}
	if len(parts[0]) > maxTokenName {
		return t, fmt.Sprintf("a name of %d bytes", len(parts[0])), fmt.Sprintf("at most %d", maxTokenName)
	}
	t.name, t.rights = parts[0], strings.Split(parts[1], ",")
	for _, r := range t.rights {
		if !slices.Contains(rights, r) {
			return t, fmt.Sprintf("the right %q", r), "some of " + strings.Join(rights, ", ")
		}
	}
	if digits, hashed := strings.CutPrefix(parts[2], "sha256:"); hashed {
		hash, err := hex.DecodeString(digits)
		if err != nil || len(hash) != len(t.hash) {
			return t, "not a hash", fmt.Sprintf("sha256: and %d hexadecimal digits", 2*len(t.hash))
		}
		t.hash = [sha256.Size]byte(hash)
		return t, "", ""
	}
	if len(parts[2]) < minToken {
		return t, fmt.Sprintf("a token of %d characters", len(parts[2])), fmt.Sprintf("at least %d", minToken)
	}
	t.hash = sha256.Sum256([]byte(parts[2]))
	return t, "", ""
}

// allow returns the name of the token of a request, or why it lacks a right. The time it takes does not depend on the
// tokens of the server.
func (t *Tokens) allow(r *http.Request, right string) (name string, err error) {
	if t == nil {
		return "", nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	hash := sha256.Sum256([]byte(given))
	found := -1
	for i := range t.list {
		if subtle.ConstantTimeCompare(hash[:], t.list[i].hash[:]) == 1 {
			found = i
		}
	}
	switch {
	case !ok || found < 0:
		return "", fail("unauthorized",
			"want a header 'Authorization: Bearer TOKEN' with a token of this server")
	case !t.list[found].may(right):
		return "", fail("forbidden", "the token of %s lacks the right %q", t.list[found].name, right)
	}
	return t.list[found].name, nil
}

func (t *token) may(right string) bool {
	return slices.Contains(t.rights, right) || right == rightMetrics && slices.Contains(t.rights, rightQuery)
}

// tokenKey is the key of a token's name in the context of a request; "" if the server has no tokens.
type tokenKey struct{}
