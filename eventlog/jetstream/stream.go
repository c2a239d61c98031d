package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/eventlog"
)

// stream returns the stream, which it makes if it is not there, and refuses one that could lose events. A cluster that
// is still electing its leader is waited for.
func (l *Log) stream(ctx context.Context) (*js.StreamInfo, error) {
	for {
		once, cancel := context.WithTimeout(ctx, attempt)
		s, err := l.js.Stream(once, l.o.Stream)
		if errors.Is(err, js.ErrStreamNotFound) {
			s, err = l.js.CreateStream(once, l.wanted())
		}
		cancel()
		if err == nil {
			info := s.CachedInfo()
			return info, lossless(info)
		}
		if !passing(err) {
			var api *js.APIError
			if errors.As(err, &api) && (api.ErrorCode == noPeers || api.ErrorCode == noReplicas) {
				return nil, fmt.Errorf("%w: its %d replicas need as many servers; ask for fewer, or add servers",
					err, l.wanted().Replicas)
			}
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", eventlog.ErrAway, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *Log) wanted() js.StreamConfig {
	replicas := l.o.Replicas
	if replicas == 0 {
		if replicas = 1; l.nc.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	return js.StreamConfig{
		Name: l.o.Stream, Subjects: []string{l.subject, l.corrected()},
		Description: "events of dygmamba serve, a message a batch", Storage: js.FileStorage, Replicas: replicas,
		Retention: js.LimitsPolicy, Discard: js.DiscardNew,
		MaxMsgs: -1, MaxBytes: -1, Duplicates: window, DenyPurge: true,
	}
}

// lossless says what of a stream's configuration would lose events.
func lossless(info *js.StreamInfo) error {
	c := info.Config
	var wrong []string
	say := func(is bool, what string) {
		if is {
			wrong = append(wrong, what)
		}
	}
	limited := c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0
	say(c.Storage != js.FileStorage, "storage is "+c.Storage.String()+", want file")
	say(c.Retention != js.LimitsPolicy, "retention is "+c.Retention.String()+", want limits")
	say(c.MaxAge > 0, fmt.Sprintf("max_age is %v, want none", c.MaxAge))
	say(limited && c.Discard != js.DiscardNew, "it discards old messages where it reaches its limits, want new ones")
	say(c.PersistMode == js.AsyncPersistMode, "it writes to disk later (persist_mode async), want default")
	say(c.Duplicates < window, fmt.Sprintf("duplicate_window is %v, want at least %v", c.Duplicates, window))
	if len(wrong) > 0 {
		return fmt.Errorf("its configuration could lose events: %s", strings.Join(wrong, "; "))
	}
	if info.State.FirstSeq > 1 && info.State.Msgs == 0 { // else counting finds whether removals explain it
		return fmt.Errorf("%w: it begins with message %d, those before are gone",
			eventlog.ErrDamaged, info.State.FirstSeq)
	}
	return nil
}

// checkSync asks the monitoring of servers whether they have every message on disk before they acknowledge it.
func checkSync(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		ctx, cancel := context.WithTimeout(ctx, attempt)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("monitoring of NATS: %w: %w", eventlog.ErrAway, err)
		}
		defer answer.Body.Close()
		var v struct {
			JetStream struct {
				Config *struct {
					SyncAlways bool `json:"sync_always"`
				} `json:"config"`
			} `json:"jetstream"`
		}
		err = json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 16<<20)).Decode(&v)
		if err != nil || v.JetStream.Config == nil {
			return fmt.Errorf("monitoring of NATS: %s/varz says nothing of JetStream (%s)", address, answer.Status)
		}
		if !v.JetStream.Config.SyncAlways {
			return fmt.Errorf("the NATS server monitored at %s acknowledges events before they are on disk: "+
				"its jetstream block needs sync_interval: always", address)
		}
	}
	return nil
}

// Codes of JetStream's errors.
const (
	noPeers      = 10005
	noLeader     = 10008
	noResources  = 10023
	noStorage    = 10047
	noReplicas   = 10074
	storeFailed  = 10077 // a limit was reached, or writing failed
	stillPending = 10158 // the same id is being taken
)

// passing says whether trying again may help.
func passing(err error) bool {
	var api *js.APIError
	if errors.As(err, &api) {
		return api.ErrorCode == stillPending || api.ErrorCode == noLeader
	}
	return !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrMaxPayload)
}

// explain gives errors of NATS the names of package eventlog and says what would help.
func (l *Log) explain(ctx context.Context, err error) error {
	where := fmt.Sprintf("event log %s, stream %s", l.url, l.o.Stream)
	var api *js.APIError
	switch {
	case errors.Is(err, eventlog.ErrClosed), errors.Is(err, nats.ErrConnectionClosed), l.ctx.Err() != nil:
		return eventlog.ErrClosed
	case errors.Is(err, eventlog.ErrDamaged):
		return err
	case errors.As(err, &api) && slices.Contains([]js.ErrorCode{noResources, noStorage, storeFailed}, api.ErrorCode):
		return fmt.Errorf("%s: %w: %w: give the stream or its servers more room", where, eventlog.ErrFull, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w: %w (%w): whether the batch was taken is not known; send it again with the same key",
			where, eventlog.ErrAway, err, ctx.Err())
	}
	return fmt.Errorf("%s: %w", where, err)
}
