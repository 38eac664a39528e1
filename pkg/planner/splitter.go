package planner

import "github.com/braidhq/braid/pkg/service"

// Splitter is a Planner that also says how a chunk of its plans is divided when the service refuses it as too large; of a
// Planner that is none, chunks are divided as the definition's axes say. Like Split, it is a pure function.
type Splitter interface {
	Split(c *service.Collection, chunk Chunk, opts Options) (halves [2]Chunk, ok bool)
}
