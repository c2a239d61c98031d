package embedded

import (
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Copy is the file as of the last commit. Until the copy is closed, the file cannot use space again that is freed.
func (l *Log) Copy() (eventlog.Copy, error) {
	l.copies.RLock()
	tx, err := l.db.Begin(false)
	if err != nil {
		l.copies.RUnlock()
		return nil, fmt.Errorf("event log %s: %w", l.path, explain(err))
	}
	return &copied{tx, sync.OnceFunc(l.copies.RUnlock)}, nil
}

type copied struct {
	*bolt.Tx
	release func()
}

func (*copied) Name() string { return File }

func (c *copied) Close() error {
	defer c.release()
	return c.Rollback()
}
