package braid

import (
	"log/slog"
	"net"

	"github.com/braidhq/braid/internal/httpapi"
)

// door is what decides whom the API lets in. The zero door lets everybody in.
type door struct {
	access *httpapi.Access
	audit  *httpapi.Audit
	tls    *httpapi.TLS
}

func openDoor(cfg APIConfig) (d door, err error) {
	if cfg.Tokens != "" {
		if d.access, err = httpapi.OpenAccess(httpapi.AccessConfig{Tokens: cfg.Tokens, MetricsOpen: cfg.MetricsOpen, Log: cfg.Log}); err != nil {
			return door{}, err
		}
	}
	if cfg.TLS != (TLSFiles{}) {
		if d.tls, err = httpapi.OpenTLS(httpapi.TLSFiles(cfg.TLS), cfg.Log); err != nil {
			return door{}, err
		}
	}
	if d.audit, err = httpapi.OpenAudit(cfg.AuditFile, cfg.Log); err != nil {
		return door{}, err
	}
	return d, nil
}

// warn tells loudly what is less safe than it may look.
func (d door) warn(listener net.Listener, cfg APIConfig) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	exposed := !ok || !address.IP.IsLoopback()
	switch {
	case d.access == nil && exposed:
		log.Warn("other machines can reach this API and it authenticates nobody: whoever reaches it may run, read and remove queries", "address", listener.Addr())
	case d.access != nil && exposed && d.tls == nil:
		log.Warn("tokens travel to this API unencrypted; give it a certificate, or let a proxy on this machine do so", "address", listener.Addr())
	}
	if d.access != nil && cfg.AllowUnauthenticated {
		log.Warn("--allow-unauthenticated has no effect: there are tokens, and every request needs one")
	}
}
