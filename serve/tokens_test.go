package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tokensOf(t *testing.T, text string) *Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A file of tokens that is not right is refused with the line and what would have been right.
func TestReadTokensComplains(t *testing.T) {
	for text, part := range map[string]string{
		"":                          "a line for each",
		"shop ingest":               "2 words",
		"shop fly 0123456789abcdef": "ingest, query, admin",
		"# x\nshop query short":     "at least 16",
		"shop query sha256:12":      "64 hexadecimal",
		"shop query sha256:" + strings.Repeat("z", 64): "hexadecimal",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", text, err, part)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("read a file that is not there")
	}
}
