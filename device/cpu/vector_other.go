//go:build !amd64

package cpu

import "github.com/dygmamba/dygmamba/device"

// There are no vector forms here: vectors is false, and these are never called.

const lanes = 1

func scanTable(width, state int) int                                         { return 0 }
func scanPack(table []float32, s *device.Scan)                               {}
func scanVector(s *device.Scan, table, h []float32, b int)                   {}
func scanGradShare(t *scanGradTask, da, dskip []float32, worker, lo, hi int) {}
func (t *normTask) vectorRows(lo, hi int)                                    {}
func (t *normGradTask) vectorRows(dgamma, dbeta []float32, lo, hi int)       {}
