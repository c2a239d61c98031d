package main

import (
	"os"
	"runtime/debug"
)

// serverGarbage is how much garbage a server lets gather before it collects it, in percent of what is in use. Most of
// what a server holds has no pointers, so that collecting is cheap, and with Go's 100 it would take twice what it
// holds.
const serverGarbage = 50

// limitGarbage makes that so, unless GOGC says otherwise.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(serverGarbage)
	}
}
