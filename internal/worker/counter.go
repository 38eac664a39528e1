package worker

import "sync/atomic"

// counter counts items in hand.
type counter struct{ n atomic.Int64 }

func (c *counter) add(d int64) { c.n.Add(d) }
func (c *counter) value() int  { return int(c.n.Load()) }
