//go:build unix

package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// fillDisk leaves NATS no room for a while. A server whose disk was full is started anew, as its operator would.
func (x *trial) fillDisk(d time.Duration) error {
	if x.c.disk == "" {
		return fmt.Errorf("NATS has no disk of its own")
	}
	filler, err := fill(x.c.disk)
	if err != nil {
		return err
	}
	<-time.After(d)
	if err := os.Remove(filler); err != nil {
		return err
	}
	x.c.full.down(0, func() {})
	return nil
}

var errEmpty = errors.New("there is nothing in it yet")

// damage changes a file of a stream under a server that is down: a bit of it, or its end is cut off.
func (x *trial) damage(a action) (err error) {
	stream := pick([]string{"RESULTS", "RESULTS", "PARTS", "ITEMS"}, a.Who)
	m := pick(x.c.nats, a.Who/11)
	m.down(0, func() {
		var files []string
		files, err = filepath.Glob(filepath.Join(m.store, "jetstream", "$G", "streams", stream, "msgs", "*.blk"))
		if err != nil || len(files) == 0 {
			err = fmt.Errorf("%s has no files (%w)", stream, errors.Join(err, errEmpty))
			return
		}
		file := pick(files, a.Who/7)
		var data []byte
		if data, err = os.ReadFile(file); err != nil || len(data) == 0 {
			err = fmt.Errorf("%s: nothing is damaged (%w)", stream, errors.Join(err, errEmpty))
			return
		}
		at := int(a.Part * float64(len(data)))
		if a.Who/3%3 == 0 {
			data = data[:at]
		} else {
			data[at] ^= 1 << (a.Who % 8)
		}
		x.note("damaged %s of %s at %d of %d bytes", stream, m.name, at, len(data))
		err = os.WriteFile(file, data, 0o600)
	})
	return err
}

// loseStore takes everything from a server of a cluster, as a disk does that is replaced by an empty one.
func (x *trial) loseStore(a action) (err error) {
	m := pick(x.c.nats, a.Who)
	m.down(a.Lasts, func() { err = os.RemoveAll(m.store) })
	return err
}
