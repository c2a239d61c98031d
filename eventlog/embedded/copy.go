package embedded

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Copy is the file as of the last commit. Until the copy is closed, the file cannot use space again that is freed.
func (l *Log) Copy() (eventlog.Copy, error) {
	tx, err := l.db.Begin(false)
	if err != nil {
		return nil, fmt.Errorf("event log %s: %w", l.path, explain(err))
	}
	return copied{tx}, nil
}

type copied struct{ *bolt.Tx }

func (copied) Name() string   { return File }
func (c copied) Close() error { return c.Rollback() }
