package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/braidhq/braid/pkg/service"
)

// failure tells what it means that there was no answer.
func (e *exchange) failure(ctx context.Context, err error) error {
	if ended := e.cutOff(ctx); ended != nil {
		return ended
	}
	class, problem := service.ClassTransient, "the connection to "+e.host()+" broke: "+err.Error()
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name) && name.IsNotFound && !name.IsTemporary && !name.IsTimeout:
		class, problem = service.ClassBadRequest, "there is no host "+name.Name+"; correct the definition's base_url or hosts, or the name service of this machine"
	case errors.As(err, &name):
		problem = "the host " + e.host() + " was not found: " + name.Err
	case errors.As(err, &certificate):
		class, problem = service.ClassBadRequest, "the certificate of "+e.host()+" is not valid: "+certificate.Err.Error()
	case errors.Is(err, io.EOF):
		problem = "the connection to " + e.host() + " was closed before an answer came"
	}
	return &service.ResponseError{Class: class, Message: problem, Err: err}
}

// unreadable tells what it means that an answer broke off or cannot be decompressed.
func (e *exchange) unreadable(ctx context.Context, status int, err error) error {
	if ended := e.cutOff(ctx); ended != nil {
		return e.withStatus(ended, status)
	}
	return &service.ResponseError{Class: service.ClassTransient, Status: status, Message: err.Error(), Err: err}
}

// cutOff gives the reason when the request did not fail by itself but was ended: the caller's cause, or a timeout.
func (e *exchange) cutOff(ctx context.Context) error {
	var late *timeoutError
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &late):
		return &service.ResponseError{Class: service.ClassTransient, Message: e.host() + ": " + late.Error(), Err: late}
	}
	return fmt.Errorf("fetch a page from %s: %w", e.host(), cause)
}

// isUnwanted tells whether the caller wants no answer any more, as opposed to one that came too late.
func isUnwanted(ctx context.Context) bool {
	var late *timeoutError
	cause := context.Cause(ctx)
	return cause != nil && !errors.As(cause, &late)
}

// tell makes an error fit to leave this package: without secrets and not longer than a message may be.
func (e *exchange) tell(err error) error {
	var refusal *service.ResponseError
	if !errors.As(err, &refusal) {
		return err
	}
	refusal.Metered = e.metered
	refusal.Message = clip(e.sent.hide(refusal.Message), maxMessageBytes)
	if refusal.Err != nil && e.sent.in(refusal.Err.Error()) {
		if !errors.Is(refusal.Err, service.ErrLink) {
			refusal.Err = nil
		} else {
			refusal.Err = service.ErrLink
		}
	}
	return refusal
}
