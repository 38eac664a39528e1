package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// Error codes of JetStream (docs/architecture.md, codes). The client names only some of them.
const (
	codeNoPeers               = 10005
	codeClusterNotReady       = 10008
	codeNotLeader             = 10009
	codeNoConsumer            = 10014
	codeNoResources           = 10023
	codeNoMessage             = 10037
	codeNoSequence            = 10043
	codeNoStorage             = 10047
	codeWrongSequence         = 10071
	codeNotClustered          = 10074
	codeStoreFailed           = 10077
	codeStreamOffline         = 10118
	codeIDInProcess           = 10158 // a message with this id is being stored
	codeWrongSequenceConstant = 10164
)

// code gives the code of an error of JetStream. Watches of the client speak through its older interface, which has a type of its own.
func code(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	if api, ok := errors.AsType[*nats.APIError](err); ok {
		return jetstream.ErrorCode(api.ErrorCode)
	}
	return 0
}

// What a person can do about a store that cannot be reached. No work is lost by any of it.
const (
	adviceConnection = "there is no connection to it now: see that a server is up and its address right; it is tried again without end"
	adviceSilence    = "it does not answer: a cluster whose servers are choosing a new leader does so within some ten seconds; where it stays so, see that most of its servers are up"
	adviceLeaderless = "the cluster has no leader: most of its servers have to be up, and then choose one within some ten seconds"
	adviceNoStream   = "nobody answers for the stream: JetStream is off, or its servers are choosing a new leader, or most of them are away"
)

// unreachable tells what is wrong when an error means that the store cannot be reached, or does not answer; empty when it means something
// else. An error of a deadline is one: the client's own patience is what ends nearly all calls.
func unreachable(err error) (advice string) {
	switch c := code(err); {
	case errors.Is(err, messages.ErrUnreachable):
		return "" // it is told already
	case c == codeClusterNotReady, c == codeNotLeader, c == codeStreamOffline, c == codeIDInProcess:
		return adviceLeaderless
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrStaleConnection):
		return adviceConnection // a client without a buffer says that it is exceeded while there is no connection
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return adviceNoStream
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrAsyncPublishTimeout),
		errors.Is(err, jetstream.ErrTooManyStalledMsgs):
		return adviceSilence
	}
	return ""
}

// translate turns what NATS says into the errors that callers decide on; the cause stays in the chain.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if advice := unreachable(err); advice != "" {
		return fmt.Errorf("%w: %s (%w)", messages.ErrUnreachable, advice, err)
	}
	switch {
	case code(err) == codeNoResources, code(err) == codeNoStorage:
		return full(err)
	case code(err) == codeNoMessage, errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrKeyNotFound):
		return fmt.Errorf("%w: %w", messages.ErrNotFound, err)
	case code(err) == codeWrongSequence, code(err) == codeWrongSequenceConstant, errors.Is(err, jetstream.ErrKeyExists):
		return fmt.Errorf("%w: %w", messages.ErrConflict, err)
	}
	return err
}

// full says that there is no more room, and how to make some.
func full(err error) error {
	return fmt.Errorf("%w: %w; make room with braid gc or braid rm, or raise the limit (--max-store, and max_file_store of a NATS server), or free some space on the disk", messages.ErrStoreFull, err)
}

// translatePublish reads the text beside code 10077, which all refusals of a stream's store share.
func translatePublish(err error) error {
	if code(err) == codeStoreFailed {
		if strings.Contains(err.Error(), "per subject") {
			return fmt.Errorf("%w: %w", messages.ErrExists, err)
		}
		return full(err)
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %w; set max_payload in the NATS server's configuration to 1MB or more", messages.ErrInvalid, err)
	}
	return translate(err)
}

// translateAsset translates what is said to whoever makes a stream.
func translateAsset(ctx context.Context, err error) error {
	if code(err) == codeNotClustered {
		return fmt.Errorf("%w: three replicas need a cluster of three NATS servers, and this server is none of a cluster: use fast or safe, or start a cluster (deploy/nats): %w", ErrDurability, err)
	}
	if code(err) == codeNoPeers {
		return fmt.Errorf("%w: the cluster has no place for three copies: all of its servers have to be up while streams are made (%w)", messages.ErrUnreachable, err)
	}
	if ctx.Err() != nil {
		return err // whoever asks has had enough, and not the client
	}
	return translate(err)
}
