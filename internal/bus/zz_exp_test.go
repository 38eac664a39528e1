package bus_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
)

func TestZZExp(t *testing.T) {
	root := t.TempDir()
	for _, mode := range []string{"rollup", "unlimited", "kv"} {
		for _, off := range []int{0, 4, 14, 40, 45, 700, -2} {
			t.Run(fmt.Sprint(mode, off), func(t *testing.T) {
				dir := filepath.Join(root, fmt.Sprint(mode, off))
				open := func() (*bus.Server, *bus.Bus) {
					s, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, FastSync: true})
					if err != nil {
						t.Fatal(err)
					}
					b, err := bus.Connect(t.Context(), bus.Config{Server: s})
					if err != nil {
						t.Fatal(err)
					}
					return s, b
				}
				s, b := open()
				cfg := jetstream.StreamConfig{Name: "X", Subjects: []string{"x.>"}, Discard: jetstream.DiscardNew, AllowDirect: true, AllowRollup: true}
				switch mode {
				case "rollup":
					cfg.DiscardNewPerSubject, cfg.MaxMsgsPerSubject = true, 1
				case "kv":
					cfg.MaxMsgsPerSubject = 1
				}
				st, err := b.JetStream().CreateStream(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				publish := func(i int, opts ...jetstream.PublishOpt) error {
					m := nats.NewMsg(fmt.Sprintf("x.%d", i))
					m.Header.Set("H", "v")
					if mode == "rollup" && len(opts) > 0 {
						m.Header.Set("Nats-Rollup", "sub")
					}
					m.Data = noise(1000)
					_, err := b.JetStream().PublishMsg(t.Context(), m, opts...)
					return err
				}
				for i := range 10 {
					if err := publish(i); err != nil {
						t.Fatal(err)
					}
				}
				b.Close()
				s.Close()
				var path string
				filepath.Walk(dir, func(p string, _ os.FileInfo, _ error) error {
					if filepath.Base(p) == "1.blk" && filepath.Base(filepath.Dir(filepath.Dir(p))) == "X" {
						path = p
					}
					return nil
				})
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				idx, rl := 0, 0
				for n := 0; ; n++ {
					rl = int(binary.LittleEndian.Uint32(data[idx:]) &^ (1 << 31))
					if n == 4 {
						break
					}
					idx += rl
				}
				at := idx + off
				if off < 0 {
					at = idx + rl + off
				}
				data[at] ^= 1
				os.WriteFile(path, data, 0o600)
				s, b = open()
				st, _ = b.JetStream().Stream(t.Context(), "X")
				verify := func(when string) {
					bad := []int{}
					for i := range 10 {
						if _, err := st.GetLastMsgForSubject(t.Context(), fmt.Sprintf("x.%d", i)); err != nil {
							bad = append(bad, i)
						}
					}
					info, err := st.Info(t.Context(), jetstream.WithSubjectFilter("x.>"))
					t.Log(when, "bad", bad, info.State.Msgs, info.State.LastSeq, info.State.Subjects, err)
				}
				verify("start")
				for i := range 10 {
					if _, err := st.GetLastMsgForSubject(t.Context(), fmt.Sprintf("x.%d", i)); err != nil {
						start := time.Now()
						t.Log("publish", i, publish(i, jetstream.WithExpectLastSequencePerSubject(0)), time.Since(start))
						t.Log("publish again", i, publish(i, jetstream.WithExpectLastSequencePerSubject(0)))
					}
				}
				verify("after")
				t.Log("healthy", publish(1, jetstream.WithExpectLastSequencePerSubject(0)))
				c, _ := st.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{"x.>"}})
				batch, err := c.FetchNoWait(50)
				n := 0
				for range batch.Messages() {
					n++
				}
				t.Log("fetched", n, err)
				b.Close()
				s.Close()
				s, b = open()
				st, _ = b.JetStream().Stream(t.Context(), "X")
				verify("reopened")
				// a new position
				t.Log("new", publish(100))
				t.Log("purge", st.Purge(t.Context(), jetstream.WithPurgeSubject("x.>")))
				verify("purged")
				b.Close()
				s.Close()
			})
		}
	}
}
