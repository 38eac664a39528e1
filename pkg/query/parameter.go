package query

import "fmt"

// ParameterError says what is wrong with one parameter of a question about queries. It is an ErrInvalid.
type ParameterError struct {
	Name    string
	Message string // what is wrong, and what is possible
}

// Parameterf makes one.
func Parameterf(name, format string, args ...any) *ParameterError {
	return &ParameterError{Name: name, Message: fmt.Sprintf(format, args...)}
}

// Error names the parameter.
func (e *ParameterError) Error() string { return e.Name + ": " + e.Message }

// Unwrap gives ErrInvalid.
func (e *ParameterError) Unwrap() error { return ErrInvalid }
