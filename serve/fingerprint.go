package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/http"
)

// fingerprint is a hash of all events that the server received, by name and in their order. Servers with the same
// fingerprint know the same events.
func (e *engine) fingerprint(at *state) string {
	h := sha256.New()
	var buf []byte
	events := at.Events().Slice(at.Known(), at.Len())
	for i := range events.Len() {
		x := events.At(i)
		buf = buf[:0]
		for _, name := range []string{e.names.Name(x.Src), e.names.Name(x.Dst)} {
			buf = binary.AppendUvarint(buf, uint64(len(name)))
			buf = append(buf, name...)
		}
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(x.Time))
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x.Label))
		for _, f := range at.Features(i) {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(f))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Server) getState(w http.ResponseWriter, _ *http.Request) (any, error) {
	at := s.engine.now()
	return struct {
		Last   uint64 `json:"last"`
		Came   int    `json:"came"`
		SHA256 string `json:"sha256"`
	}{at.Last, at.Len() - at.Known(), s.engine.fingerprint(at)}, nil
}
