package docs

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate gives a page's shell a network of its own, with nothing in it but loopback, and makes it the first of its own
// processes: pages may use the same ports beside one another and beside other tests, nothing reaches the world, and whatever a page
// has started ends with its shell.
func isolate(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
}

// isolates tells whether the machine lets us: it needs root or user namespaces, and ip.
func isolates() error {
	cmd := exec.Command("ip", "link", "set", "lo", "up")
	isolate(cmd)
	return cmd.Run()
}
