package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// errNetwork is why processes cannot be parted from one another packet by packet; nil: they can.
var errNetwork = errors.New("the test did not ask for networks")

// inNetwork runs the tests in a network namespace of their own, where this system lets it make one: whatever they add there
// is gone with them, and nothing leads out.
func inNetwork(run func() int) int {
	if os.Getenv(insideVariable) != "" {
		errNetwork = enter()
		return run()
	}
	if errNetwork = canEnter(); errNetwork != nil {
		return run()
	}
	runtime.LockOSThread() // the child is to end with this process, which Linux takes for this thread
	inside := exec.Command(os.Args[0], os.Args[1:]...)
	inside.Env = append(os.Environ(), insideVariable+"=1")
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := inside.Start(); err != nil {
		errNetwork = fmt.Errorf("make a network namespace: %w", err)
		return run()
	}
	err := inside.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(1, exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// canEnter tells why no networks can be made on this machine.
func canEnter() error {
	if os.Geteuid() != 0 {
		return errors.New("networks need root")
	}
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("networks need iproute2 and util-linux: %w", err)
		}
	}
	return nil
}

// enter makes loopback work in a fresh namespace, and tries what networks are made of.
func enter() error {
	if err := command("ip", "link", "set", "lo", "up"); err != nil {
		fmt.Fprintln(os.Stderr, "a network namespace without loopback:", err)
		os.Exit(1)
	}
	return errors.Join(
		command("ip", "link", "add", "try-bridge", "type", "bridge"),
		command("ip", "link", "add", "try-a", "type", "veth", "peer", "name", "try-b"),
		command("ip", "link", "set", "try-a", "master", "try-bridge"),
		command("ip", "link", "del", "try-a"),
		command("ip", "link", "del", "try-bridge"))
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// network is a switch with a host for each process of a system, and a second one, the island, that nobody is at.
type network struct {
	t      *testing.T
	id     int32
	island string
	main   string
	hosts  int
}

var networks atomic.Int32

// newNetwork makes a network at which this process has the first address, or tells why it cannot.
func newNetwork(t *testing.T) (*network, error) {
	t.Helper()
	if errNetwork != nil {
		return nil, errNetwork
	}
	n := &network{t: t, id: networks.Add(1)}
	n.main, n.island = fmt.Sprintf("main%d", n.id), fmt.Sprintf("island%d", n.id)
	for _, one := range []string{n.main, n.island} {
		if err := command("ip", "link", "add", one, "type", "bridge"); err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := command("ip", "link", "del", one); err != nil {
				t.Error(err)
			}
		})
		if err := command("ip", "link", "set", one, "up"); err != nil {
			return nil, err
		}
	}
	if err := command("ip", "addr", "add", n.address(1)+"/24", "dev", n.main); err != nil {
		return nil, err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+n.main+"/route_localnet", []byte("1"), 0o644); err != nil {
		return nil, fmt.Errorf("let the upstream's address be asked for: %w", err)
	}
	return n, nil
}

// upstream is the address of this process that a service is asked at. A service without TLS has to be on loopback, so all
// hosts know this one address of loopback's to be at the switch.
func (n *network) upstream() string { return "127.77.77.77" }

func (n *network) address(host int) string {
	return fmt.Sprintf("10.%d.%d.%d", 64+n.id/200%64, n.id%200, host)
}

// host is a machine, as far as a process can tell: a network namespace with one cable.
type host struct {
	address string
	cable   string // its end at the switch
	net     *network
	space   *os.File // keeps the namespace
	enter   []string // what to put before a command for it to run there
}

// newHost adds a machine.
func (n *network) newHost() (*host, error) {
	n.hosts++
	space, err := newSpace()
	if err != nil {
		return nil, err
	}
	n.t.Cleanup(func() { _ = space.Close() })
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), space.Fd())
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, err
	}
	h := &host{
		net: n, space: space, address: n.address(1 + n.hosts), cable: fmt.Sprintf("c%d-%d", n.id, n.hosts),
		enter: []string{nsenter, "--net=" + path},
	}
	if err := command("ip", "link", "add", h.cable, "type", "veth", "peer", "name", "eth0", "netns", path); err != nil {
		return nil, err
	}
	for _, line := range []string{
		"ip link set lo up",
		"ip addr add " + h.address + "/24 dev eth0",
		"ip link set eth0 up",
		"echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet",
		"ip route del local 127.0.0.0/8 dev lo table local",
		"ip route add " + n.upstream() + " via " + n.address(1) + " src " + h.address,
	} {
		if err := command(h.enter[0], append(h.enter[1:], "sh", "-c", line)...); err != nil {
			return nil, err
		}
	}
	return h, errors.Join(command("ip", "link", "set", h.cable, "up"), h.plug(n.main))
}

// plug puts the host's cable into a switch: whoever is at another one hears nothing of it, and is told nothing.
func (h *host) plug(into string) error { return command("ip", "link", "set", h.cable, "master", into) }

// newSpace makes a network namespace, which lasts as long as the file is open.
func newSpace() (*os.File, error) {
	type made struct {
		file *os.File
		err  error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, which is in the new namespace, ends with this function
		var m made
		if m.err = syscall.Unshare(syscall.CLONE_NEWNET); m.err == nil {
			m.file, m.err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", syscall.Gettid()))
		}
		done <- m
	}()
	m := <-done
	return m.file, m.err
}
