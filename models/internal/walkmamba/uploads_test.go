package walkmamba

import (
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// scales is a device that weighs what is written to it.
type scales struct {
	device.Device
	bytes int
}

func (s *scales) Write(dst device.Buffer, src []float32) {
	s.bytes += 4 * len(src)
	s.Device.Write(dst, src)
}

func (s *scales) WriteInts(dst device.Ints, src []int32) {
	s.bytes += 4 * len(src)
	s.Device.WriteInts(dst, src)
}

// BenchmarkUploads goes through batches of 200 events and 200 negatives one after the other with a model that is narrow
// but for its walk vectors. It reports what a step uploads, and what the table of its states would be beside that.
func BenchmarkUploads(b *testing.B) {
	for name, settings := range map[string][]string{
		"uci":   {"max_input_sequence_length=32", "patch_size=1"},
		"enron": {"max_input_sequence_length=256", "patch_size=8"},
	} {
		b.Run(name, func(b *testing.B) {
			log := streamtest.Real(b, name)
			span := log.At(log.Len()-1).Time - log.At(0).Time
			spec, err := Factory.Spec("", model.Data{Span: span},
				append(settings, "channel_embedding_dim=2", "time_feat_dim=2", "node_feat_dim=2", "edge_feat_dim=2")...)
			if err != nil {
				b.Fatal(err)
			}
			dev := &scales{Device: cpu.New(cpu.Options{Threads: 2})}
			defer dev.Close()
			m, err := Factory.Build(model.Env{Device: dev}, spec)
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			tp := grad.NewTape(dev, false)
			defer tp.Close()
			past, batch := index.Freeze(log), sample.Batch{Positives: 200}
			dev.bytes = 0
			at, table := log.Len()/2, 0
			for b.Loop() {
				var qs []sample.Query
				for i := range 400 {
					e := log.At(at + i%200)
					if i >= 200 {
						e.Dst = log.At(i * 7919 % log.Len()).Dst
					}
					qs = append(qs, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
				}
				sample.Gather(past, m.Plan(), qs, &batch)
				tp.Reset(0)
				m.Embed(tp, &batch)
				table += 4 * len(foundIn(&batch).Table)
				if at += 200; at+200 > log.Len()*7/10 {
					at = log.Len() / 2
				}
			}
			b.ReportMetric(float64(dev.bytes)/1e6/float64(b.N), "MB/step")
			b.ReportMetric(float64(table)/1e6/float64(b.N), "MB-of-states/step")
		})
	}
}
