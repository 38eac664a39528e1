package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func TestWhatComesBehindTheBarBeginsOnAClearLine(t *testing.T) {
	var out bytes.Buffer
	p := &barProgress{out: &out, started: time.Now()}
	p.show(followedStatus(messages.Running, 3))
	p.done()
	if !strings.HasSuffix(out.String(), "\n\r\x1b[K") {
		t.Errorf("it ends with %q", out.String())
	}
}
