//go:build !amd64

package cpu

import "github.com/dygmamba/dygmamba/device"

// There are no vector forms here: vectors is false, and these are never called.

const (
	lanes    = 1
	convTaps = 0
)

func scanTable(width, state int) int                                         { return 0 }
func scanPack(table []float32, s *device.Scan)                               {}
func scanVector(s *device.Scan, table, h []float32, b int)                   {}
func scanGradShare(t *scanGradTask, da, dskip []float32, worker, lo, hi int) {}
func (t *normTask) vectorRows(lo, hi int)                                    {}
func (t *normGradTask) vectorRows(dgamma, dbeta []float32, lo, hi int)       {}
func convTable(width int) int                                                { return 0 }
func convPack(table []float32, c *device.Conv)                               {}
func convVector(c *device.Conv, table, zeros []float32, b int)               {}
func convGradShare(t *convGradTask, dw, dbias []float32, worker, lo, hi int) {}
func (t *gatherTask) vectorRows(lo, hi int)                                  {}
func (t *scatterTask) vectorRows(table device.Mat, lo, hi int)               {}
func useRowVectors(l *rowLoops)                                              {}
