package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
)

// maxMissing bounds the positions without a result that a manifest names; it counts all.
const maxMissing = 1000

// Manifest proves the table of a query, without any request upstream and without reading a row: what was asked, each request that
// brought rows, and the digests of these. What the records of an earlier Braid do not tell is left out.
func (c *Coordinator) Manifest(ctx context.Context, id string) (*messages.Manifest, error) {
	q, _, survey, err := c.surveyed(ctx, id)
	if err != nil {
		return nil, err
	}
	runs, err := c.runs(ctx, q, survey)
	if err != nil {
		return nil, err
	}
	var before []*messages.Manifest
	for i := range runs[:len(runs)-1] {
		m, err := c.manifest(ctx, runs[:i+1])
		if err != nil {
			return nil, err
		}
		m.Spec, m.Columns, m.Citation = nil, nil, ""
		before = append(before, m)
	}
	m, err := c.manifest(ctx, runs)
	if err != nil {
		return nil, err
	}
	m.Before = before
	return m, nil
}

// Columns gives the columns that a query's table has, without reading a row.
func (c *Coordinator) Columns(ctx context.Context, id string) ([]frame.Column, error) {
	q, p, survey, err := c.surveyed(ctx, id)
	if err != nil {
		return nil, err
	}
	runs, err := c.runs(ctx, q, survey)
	if err != nil {
		return nil, err
	}
	columns, err := frame.ColumnsOf(p.shape(), columnsOf(runs))
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", q.ID, tableError(err))
	}
	return columns, nil
}

// manifest is that of a query without those that it goes on from; its columns are those of all.
func (c *Coordinator) manifest(ctx context.Context, runs []run) (*messages.Manifest, error) {
	q, survey := runs[len(runs)-1].query, runs[len(runs)-1].survey
	p, err := c.open(ctx, q)
	if err != nil {
		return nil, err
	}
	columns, err := frame.ColumnsOf(p.shape(), columnsOf(runs))
	if err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", q.ID, tableError(err))
	}
	asked := *p.spec
	asked.Values = p.asked()
	spec, err := asked.Encode()
	if err != nil {
		return nil, err
	}
	proofs, err := c.proofs(ctx, q, survey)
	if err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", q.ID, err)
	}
	d := p.definition
	m := &messages.Manifest{
		V: messages.Version, Made: c.ports.Now().UTC(), Braid: c.cfg.Version, Spec: spec,
		Query: messages.ManifestQuery{
			ID: q.ID, Name: q.Name, State: q.State, Runs: q.Run, Created: q.Created, Updated: q.Updated, URL: q.URL, Spec: q.Spec,
			Plan: q.Fingerprint, Chunks: q.Chunks, MaxRows: q.MaxRows,
		},
		Service: messages.ManifestService{
			Name: d.Name, Title: d.Title, Docs: d.Docs, BaseURL: d.BaseURL, Collection: q.Collection, Definition: q.Definition,
		},
		Requests: messages.ManifestRequests{
			Sent: survey.Progress.Requests, AtLeast: survey.Progress.AtLeast, Missing: survey.Completed.Lacks(q.Chunks),
		},
		Missing: survey.Completed.Missing(q.Chunks, maxMissing),
	}
	for _, column := range columns {
		m.Columns = append(m.Columns, messages.ManifestColumn{
			Name: column.Name, Type: string(column.Type), Declared: column.Declared, Unit: column.Unit, UnitColumn: column.UnitColumn,
		})
	}
	i := 0
	for position, chunk := range p.leaves(survey) {
		if i++; i%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if proof := proofs[position]; proof != nil {
			entry, err := p.proven(proof, chunk)
			if err != nil {
				return nil, fmt.Errorf("manifest of %s: chunk %s: %w", q.ID, position, err)
			}
			m.Chunks = append(m.Chunks, entry)
			span(&m.Requests, entry)
		}
	}
	m.Citation = citation(m)
	return m, nil
}

// citation says in a sentence what a methods section needs.
func citation(m *messages.Manifest) string {
	title := m.Service.Title
	if title == "" {
		title = m.Service.Name
	}
	retrieved := "retrieved"
	if first, last := m.Requests.First.Format(time.DateOnly), m.Requests.Last.Format(time.DateOnly); !m.Requests.First.IsZero() {
		retrieved += " " + first
		if last != first {
			retrieved += " to " + last
		}
	}
	return fmt.Sprintf("%s, %s, %s from %s with Braid %s (query %s, plan %.12s, definition %.12s).",
		title, m.Service.Collection, retrieved, m.Service.BaseURL, m.Braid, m.Query.ID, m.Query.Plan, m.Service.Definition)
}

// span widens the time in which requests were sent.
func span(sum *messages.ManifestRequests, chunk messages.ManifestChunk) {
	for _, page := range chunk.Pages {
		if sum.First.IsZero() || page.Sent.Before(sum.First) {
			sum.First = page.Sent
		}
		if page.Sent.After(sum.Last) {
			sum.Last = page.Sent
		}
	}
}

// proof is what the store tells of a result without its rows.
type proof struct {
	header *messages.ResultHeader
	pages  []*messages.Page // that were stored before it, by number
}

// proofs reads the headers of the results that count, and those of their pages.
func (c *Coordinator) proofs(ctx context.Context, q *messages.Query, survey *Survey) (map[messages.Position]*proof, error) {
	proofs := map[messages.Position]*proof{}
	err := readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackResults(ctx, q.ID, func(h *messages.ResultHeader) {
			news()
			counts := h.Outcome == messages.OutcomeRows || h.Outcome == messages.OutcomeEmpty
			if counts && survey.Completed.Has(h.Position) && proofs[h.Position] == nil {
				proofs[h.Position] = &proof{header: h, pages: make([]*messages.Page, h.StoredPages)}
			}
		}, func(messages.Position, error) { news() }, caughtUp)
	})
	if err != nil {
		return nil, err
	}
	err = readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackPages(ctx, q.ID, func(page *messages.Page) {
			news()
			proof := proofs[page.Position]
			if proof != nil && page.Walk == proof.header.Walk && page.Page < len(proof.pages) && !page.Ended {
				proof.pages[page.Page] = page
			}
		}, caughtUp)
	})
	return proofs, err
}

// proven is what a manifest says of a chunk.
func (p *pinned) proven(proof *proof, chunk planner.Chunk) (messages.ManifestChunk, error) {
	h := proof.header
	entry := messages.ManifestChunk{
		Position: h.Position, Outcome: h.Outcome, Rows: h.Rows, Bytes: h.Bytes, SHA256: h.SHA256, Requests: h.Requests,
		Doubted: h.Doubted, Run: h.Run, Attempt: h.Attempt, Worker: h.Worker, Finished: h.Finished,
	}
	if p.definition.Adapter == "" {
		request, err := p.collection.Request(chunk.Values)
		if err != nil {
			return entry, err
		}
		entry.Method, entry.URL, entry.Body = request.Method, request.URL, string(request.Body)
	}
	left := h.Rows
	for _, page := range proof.pages {
		if page == nil || page.Request == nil {
			return entry, nil // of an earlier Braid, or lost: what is not known of one page makes the rest a guess
		}
		left -= page.Rows
		entry.Pages = append(entry.Pages, provenPage(page.Page, page.Rows, page.Request))
	}
	if last := h.LastPage; last != nil {
		entry.Pages = append(entry.Pages, provenPage(len(proof.pages), left, last))
	}
	return entry, nil
}

func provenPage(number int, rows int64, r *messages.Request) messages.ManifestPage {
	return messages.ManifestPage{
		Page: number, Sent: r.Sent.UTC().Round(time.Microsecond), Upstream: r.Upstream, Status: r.Status, Tries: r.Tries, Rows: rows, Bytes: r.Bytes, SHA256: r.SHA256,
	}
}
