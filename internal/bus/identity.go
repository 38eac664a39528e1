package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/braidhq/braid/pkg/messages"
)

var (
	// ErrIdentity is wrapped when files of credentials or certificates cannot be used, or the server does not take them.
	ErrIdentity = errors.New("NATS does not know us")
	// ErrDenied is wrapped when the server does not permit its user what Braid needs.
	ErrDenied = errors.New("NATS does not permit it")
)

// identity says to the server who we are, and to us who it is. Files are looked at now, with an error that names them: the
// client would find out at each connection anew.
func (cfg Config) identity() ([]nats.Option, error) {
	var opts []nats.Option
	if cfg.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(cfg.Inbox))
	}
	if cfg.Credentials != "" && cfg.NKey != "" {
		return nil, fmt.Errorf("%w: --nats-creds and --nats-nkey are two ways to say who we are; use one", ErrIdentity)
	}
	if cfg.Credentials != "" {
		if err := checkCredentials(cfg.Credentials); err != nil {
			return nil, fmt.Errorf("%w: --nats-creds: %w", ErrIdentity, err)
		}
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	if cfg.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(cfg.NKey)
		if err != nil {
			return nil, fmt.Errorf("%w: --nats-nkey: %s holds no seed of a user's nkey: %w", ErrIdentity, cfg.NKey, err)
		}
		opts = append(opts, option)
	}
	if cfg.CA != "" {
		pem, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: --nats-ca: %w", ErrIdentity, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: --nats-ca: %s holds no certificate", ErrIdentity, cfg.CA)
		}
		opts = append(opts, nats.RootCAs(cfg.CA))
	}
	if (cfg.Cert == "") != (cfg.Key == "") {
		return nil, fmt.Errorf("%w: --nats-cert and --nats-key go together", ErrIdentity)
	}
	if cfg.Cert != "" {
		if _, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key); err != nil {
			return nil, fmt.Errorf("%w: --nats-cert %s with --nats-key: %w", ErrIdentity, cfg.Cert, err)
		}
		opts = append(opts, nats.ClientCert(cfg.Cert, cfg.Key))
	}
	return opts, nil
}

// checkCredentials says whether a file holds a user's token and the seed of its key, as nsc writes them.
func checkCredentials(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	defer clear(data)
	token, err := nkeys.ParseDecoratedJWT(data)
	if err == nil && strings.Count(token, ".") != 2 {
		err = errors.New("there is no token of a user")
	}
	if err == nil {
		_, err = nkeys.ParseDecoratedUserNKey(data)
	}
	if err != nil {
		return fmt.Errorf("%s is no credentials file (nsc generate creds): %w", path, err)
	}
	return nil
}

// maxLine is the max_control_line of a server whose configuration does not say another.
const maxLine = 4096

// laden tells whether the credentials may be longer than a server takes in one line.
func (cfg Config) laden() bool {
	if cfg.Credentials == "" {
		return false
	}
	file, err := os.Stat(cfg.Credentials)
	return err == nil && file.Size() > maxLine
}

// cutOff tells whether the other side ended the connection without a word, or its word got lost.
func cutOff(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// refusedBy says why there is no connection. laden is that of who asked for it.
func refusedBy(shown string, laden bool, err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%w: the server at %s refused us: %w; check --nats-creds or --nats-nkey", ErrIdentity, shown, err)
	case isAlert(err, "certificate required"):
		return fmt.Errorf("%w: the server at %s asks for a certificate of ours: %w; give one that its CA has signed with --nats-cert and --nats-key", ErrIdentity, shown, err)
	case isAlert(err, "bad certificate"), isAlert(err, "unknown certificate authority"), isAlert(err, "expired certificate"), isAlert(err, "unknown certificate"):
		return fmt.Errorf("%w: the server at %s does not take our certificate: %w; see that --nats-cert is signed by its CA, is for clients (clientAuth) and has not expired", ErrIdentity, shown, err)
	case strings.Contains(err.Error(), "maximum control line exceeded"), laden && cutOff(err): // the client has no error of its own for it
		return fmt.Errorf("%w: the credentials are longer than the server at %s takes in one line: %w; keep the permissions in a scoped signing key of the account, "+
			"or raise max_control_line in the server's configuration (64KB)", ErrIdentity, shown, err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: the certificate of the server at %s is signed by none that we trust: %w; name its CA with --nats-ca", ErrIdentity, shown, err)
	case errors.As(err, &name):
		return fmt.Errorf("%w: the certificate of the server at %s is for another name: %w", ErrIdentity, shown, err)
	}
	return fmt.Errorf("%w at %s: %w; start it, or name another server", messages.ErrUnreachable, shown, err)
}

// isAlert tells whether the other side ended TLS with such an alert, for which there is a text alone.
func isAlert(err error, text string) bool {
	return strings.Contains(err.Error(), "remote error: tls: "+text)
}

// failed takes in an error that no call is told of. What a user is not permitted looks to the caller like a server that does
// not answer.
func (b *Bus) failed(err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		b.denied.Store(&err)
		b.mu.Lock()
		close(b.barred)
		b.barred = make(chan struct{})
		b.mu.Unlock()
		b.log.Error("NATS does not permit its user what Braid needs", "error", err)
		return
	}
	b.log.Warn("nats", "error", err)
}

// permitted gives a context that ends as well when the server does not permit something: no answer will come then. The caller calls cancel.
func (b *Bus) permitted(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	b.mu.Lock()
	barred := b.barred
	b.mu.Unlock()
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-barred:
			end(ErrDenied)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// explained names what the server did not permit as the reason of an error that only says that no answer came.
func (b *Bus) explained(err error) error {
	denied := b.denied.Load()
	if denied == nil || err == nil {
		return err
	}
	role := "Braid"
	if b.role != "" {
		role = "a " + b.role
	}
	// The error that no answer came is not wrapped: asking again would not help.
	return fmt.Errorf("%w: %w (%s); is the key another role's (--nats-nkey, --nats-creds)? The user of %s needs what deploy/nats/users.conf lists for it",
		ErrDenied, *denied, err.Error(), role)
}
