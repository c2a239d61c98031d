package models

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// TestEveryModel holds what every entry of the catalogue promises.
func TestEveryModel(t *testing.T) {
	for _, name := range Names(false) {
		if Get(name).Task != "" { // next_test.go of the root has what these promise
			continue
		}
		t.Run(name, func(t *testing.T) { modeltest.Conform(t, name, Get(name)) })
	}
}
