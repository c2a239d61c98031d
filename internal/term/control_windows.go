package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableControl switches control sequences on; older Windows consoles start without them.
func enableControl(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
