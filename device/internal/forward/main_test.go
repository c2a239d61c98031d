package main

import (
	"bytes"
	"os"
	"testing"
)

// TestGenerated: what is committed is what the contract of today gives.
func TestGenerated(t *testing.T) {
	path, want, err := generated("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A checkout may have turned line ends.
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Errorf("%s is not what package device's interfaces give: run go generate ./device", path)
	}
}
