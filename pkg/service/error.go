package service

import "errors"

// Errors that callers branch on.
var (
	ErrUnknownCollection = errors.New("unknown collection")
	ErrUnknownParameter  = errors.New("unknown parameter")
	ErrMissingParameter  = errors.New("missing parameter")
	ErrInvalidValue      = errors.New("invalid value")
	ErrUnsafeBase        = errors.New("unsafe base URL")
	ErrLink              = errors.New("link refused") // a link or redirect leads where it must not
)
