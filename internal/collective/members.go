package collective

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// self is where this process runs.
func self() Member {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Member{Host: host, Cores: cores(), PID: os.Getpid()}
}

// cores lists the processors that this process may use, "" where the system does not tell.
func cores() string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if list, ok := strings.CutPrefix(lines.Text(), "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	return ""
}

// AllGatherJSON brings a value of each rank to all: to is a pointer to a slice of such values.
func (g *Group) AllGatherJSON(ctx context.Context, own, to any) error {
	raw, err := json.Marshal(own)
	if err != nil {
		return err
	}
	all, err := g.AllGather(ctx, raw)
	if err != nil {
		return err
	}
	list := make([]json.RawMessage, len(all))
	for i, b := range all {
		list[i] = b
	}
	joined, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("gather from all ranks: %w", err)
	}
	return json.Unmarshal(joined, to)
}

// Agree refuses to go on when a value, such as the hash of the data, is not the same on all ranks.
func (g *Group) Agree(ctx context.Context, what, value string) error {
	var all []string
	if err := g.AllGatherJSON(ctx, value, &all); err != nil {
		return err
	}
	for i, other := range all {
		if other != all[0] {
			return fmt.Errorf("%s differs between ranks: %s on rank 0 (%s), %s on rank %d (%s)", what, all[0],
				g.members[0].Host, other, i, g.members[i].Host)
		}
	}
	return nil
}

// newKey is a name that nobody guesses.
func newKey() string { return rand.Text() }
