package serve

import (
	"bytes"
	_ "embed"
	"net/http"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/predict"
)

// liveDoc is what the page shows. It asks for it every second.
type liveDoc struct {
	Status  statusDoc    `json:"status"`
	Rates   []int        `json:"rates"` // events of each of the last 120 seconds, oldest first
	Quality qualityDoc   `json:"quality"`
	Series  []qualityDoc `json:"series"`
	Score   struct {
		P50   float64 `json:"p50"` // seconds
		P99   float64 `json:"p99"`
		Count int     `json:"count"`
	} `json:"score"`
	Latest    []pairDoc     `json:"latest"`              // events, the newest first
	Surprises *surprisesDoc `json:"surprises,omitempty"` // of a model of the task "next"
}

type pairDoc struct {
	Src  nodeDoc    `json:"src"`
	Dst  nodeDoc    `json:"dst"`
	Time event.Time `json:"time"`
}

// getLive answers with recent events, rates and quality.
func (s *Server) getLive(w http.ResponseWriter, _ *http.Request) (any, error) {
	doc := liveDoc{Status: s.status(), Rates: s.quality.rates.last(120, time.Now()), Latest: []pairDoc{}}
	s.quality.mu.Lock()
	doc.Series = append([]qualityDoc{}, s.quality.series...)
	s.quality.mu.Unlock()
	doc.Quality = s.quality.now()
	doc.Score.P50, doc.Score.P99, doc.Score.Count = s.metrics.recent.quantiles()
	at := s.engine.now()
	events := at.Events()
	for i := events.Len() - 1; i >= max(0, events.Len()-12); i-- {
		e := events.At(i)
		src, dst := s.show(at.epoch.names.Name(e.Src)), s.show(at.epoch.names.Name(e.Dst))
		doc.Latest = append(doc.Latest, pairDoc{src, dst, e.Time})
	}
	if s.models.chooses() {
		last := s.surprises.last(12, 0)
		doc.Surprises = &last
	}
	return doc, nil
}

//go:embed page.html
var pageSource []byte

// page explains the probability of a link as all other answers do.
var page = bytes.ReplaceAll(pageSource, []byte("LINK_MEANS"), []byte(predict.LinkMeans))

// pagePolicy lets the page use its own script and style, and nothing from elsewhere.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

//go:embed openapi.json
var openAPI []byte

// static is a handler that answers with a file of the program.
func static(contentType string, file []byte) handler {
	return func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Write(file)
		return nil, nil
	}
}
