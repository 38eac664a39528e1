package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Task is what an item asks of the adapter that a definition names: the values of one chunk. A definition that names no
// adapter has requests instead.
type Task struct {
	Collection string `json:"collection"`
	Values     Values `json:"values"`
}

// Encode gives the task's wire form; equal tasks give equal bytes.
func (t Task) Encode() (json.RawMessage, error) { return json.Marshal(t) }

// DecodeTask reads what Encode wrote. The error is a *ResponseError: with such a task nothing can ever be asked.
func DecodeTask(data json.RawMessage) (Task, error) {
	var t Task
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&t)
	if err == nil {
		if _, after := decoder.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("data after it")
		}
	}
	if err == nil && t.Collection == "" {
		err = errors.New("it has no collection")
	}
	if err != nil {
		return Task{}, &ResponseError{Class: ClassBadRequest, Message: fmt.Sprintf("not an adapter's task: %s", err), Err: err}
	}
	return t, nil
}
