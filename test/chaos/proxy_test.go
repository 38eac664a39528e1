//go:build unix

package chaos

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between processes and a server, and does to their connections what networks do.
type proxy struct {
	listener net.Listener
	target   string
	onlyBack bool                     // stalls and delays only what comes back from the target
	settled  func(from net.Addr) bool // tells whether the target has seen the end of a connection; nil: it need not be waited for

	mu     sync.Mutex // guards all below
	links  map[*link]struct{}
	parted bool
	stall  chan struct{} // closed when a stall is over; nil: there is none
	delay  time.Duration
	over   bool
	all    sync.WaitGroup
}

// link is one connection through the proxy.
type link struct{ near, far net.Conn }

func (l *link) close() {
	_ = l.far.Close() // both may be closed already
	_ = l.near.Close()
}

// newProxy listens at an address, which is a host's without a port.
func newProxy(t *testing.T, at, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, links: map[*link]struct{}{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		p.over = true
		p.unstall()
		p.mu.Unlock()
		p.closeAll()
		p.all.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(near) })
	}
}

func (p *proxy) serve(near net.Conn) {
	p.mu.Lock()
	parted := p.parted || p.over
	p.mu.Unlock()
	if parted {
		_ = near.Close() // whoever asked sees that
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = near.Close()
		return
	}
	l := &link{near, far}
	p.mu.Lock()
	p.links[l] = struct{}{}
	parted = p.parted || p.over
	p.mu.Unlock()
	if parted {
		l.close()
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.pass(l, near, far, p.onlyBack) })
	ways.Go(func() { p.pass(l, far, near, false) })
	ways.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass carries bytes one way until either side ends.
func (p *proxy) pass(l *link, from, to net.Conn, free bool) {
	defer l.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !free {
			p.hold()
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold waits as long as bytes are held back now.
func (p *proxy) hold() {
	p.mu.Lock()
	stall, delay := p.stall, p.delay
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	if stall != nil {
		<-stall
	}
}

// cut closes every connection, the target's side first: what a client is told must not run ahead of what the target knows, as
// no request that is out of its reach may count as ended.
func (p *proxy) cut() {
	p.mu.Lock()
	var links []*link
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		_ = l.far.Close()
	}
	for _, l := range links {
		for patience := time.After(2 * time.Second); p.settled != nil && !p.settled(l.far.LocalAddr()); {
			select {
			case <-patience:
			case <-time.After(time.Millisecond):
				continue
			}
			break
		}
		l.close()
	}
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// part closes every connection and refuses new ones, until it is called with false.
func (p *proxy) part(parted bool) {
	p.mu.Lock()
	p.parted = parted
	p.mu.Unlock()
	if parted {
		p.closeAll()
	}
}

// stallAll holds back every byte until it is called with false; then they all arrive.
func (p *proxy) stallAll(stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !stalled:
		p.unstall()
	case p.stall == nil && !p.over:
		p.stall = make(chan struct{})
	}
}

// unstall ends a stall. The caller holds mu.
func (p *proxy) unstall() {
	if p.stall != nil {
		close(p.stall)
		p.stall = nil
	}
}

func (p *proxy) delayBy(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}
