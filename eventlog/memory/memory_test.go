package memory_test

import (
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/memory"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

type store struct{ log *memory.Log }

func (s *store) Open(*testing.T) eventlog.Log {
	s.log = s.log.Reopen()
	return s.log
}

func TestMemory(t *testing.T) {
	eventlogtest.Run(t, func(*testing.T) eventlogtest.Store { return &store{memory.New()} })
}
