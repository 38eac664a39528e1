package bus

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/braidhq/braid/pkg/messages"
)

// fullStream says which stream has no room left within its own limit, and what is to be done about it; "" when it is not a stream's
// limit that is met, but the disk.
func (s *Server) fullStream() string {
	info, err := s.nats.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Config: true})
	if err != nil {
		return ""
	}
	var name string
	var have, most uint64
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Config == nil || stream.Config.MaxBytes <= 0 || stream.Config.Discard != server.DiscardNew {
				continue
			}
			// The fullest of them is the one that refused: compared as fractions, without dividing.
			if limit := uint64(stream.Config.MaxBytes); most == 0 || stream.State.Bytes*most > have*limit {
				name, have, most = stream.Name, stream.State.Bytes, limit
			}
		}
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf("the stream %s holds %s of the %s that it may, its share of %s; %s", name, megabytes(have), megabytes(most), s.limitText(),
		"raise --max-store, or make room with braid gc or braid rm")
}

// limitText says what all streams together may hold, and by whose word.
func (s *Server) limitText() string {
	if s.asked {
		return "--max-store " + megabytes(uint64(s.max))
	}
	return megabytes(uint64(s.max)) + ", which were 80 % of the space that was free at first"
}

func megabytes(n uint64) string {
	if n < 10_000_000 {
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// fullBecause tells why no more can be stored: a stream has reached its limit, or the disk is full.
func (s *Server) fullBecause(err error) error {
	if atLimit(err) {
		if which := s.fullStream(); which != "" {
			return fmt.Errorf("%w: %s", messages.ErrStoreFull, which)
		}
	}
	return fmt.Errorf("%w\nthe data directory is %s: free some space there, then resume", err, s.dir)
}

// atLimit tells whether a stream has refused a message by its own limit.
func atLimit(err error) bool {
	return strings.Contains(err.Error(), "maximum bytes exceeded") || strings.Contains(err.Error(), "maximum messages exceeded")
}
