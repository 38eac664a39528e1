package bus

import (
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
)

// Names of streams and buckets.
const (
	streamItems   = "ITEMS"
	streamResults = "RESULTS"
	streamParts   = "PARTS"
	streamEvents  = "EVENTS"

	bucketQueries  = "braid_queries"
	bucketLeases   = "braid_leases"
	bucketQuota    = "braid_quota"
	bucketServices = "braid_services"
	bucketGates    = "braid_gates"    // apart from what workers only read
	bucketSuspects = "braid_suspects" // likewise
	bucketWorkers  = "braid_workers"
	bucketLeader   = "braid_leader"
)

func itemSubject(service, query string, p messages.Position) string {
	return fmt.Sprintf("braid.item.%s.%s.%s", service, query, p)
}

func itemsOf(service, query string) string { return fmt.Sprintf("braid.item.%s.%s.>", service, query) }

func itemsFor(service string) string { return fmt.Sprintf("braid.item.%s.>", service) }

func resultSubject(query string, p messages.Position) string {
	return fmt.Sprintf("braid.result.%s.%s", query, p)
}

func resultsOf(query string) string { return fmt.Sprintf("braid.result.%s.>", query) }

// A part's subject holds the attempt and not the position: parts belong to the attempt that wrote them, and only the
// result that names the attempt makes them the position's.
func partSubject(query, attempt string, n int) string {
	return fmt.Sprintf("braid.part.%s.%s.%d", query, attempt, n)
}

func partsOfAttempt(query, attempt string) string {
	return fmt.Sprintf("braid.part.%s.%s.*", query, attempt)
}

// A page's subject holds the walk that it belongs to: whoever goes on with the walk writes the next one, and only one can.
func pageSubject(query string, p messages.Position, walk string, page int) string {
	return fmt.Sprintf("braid.page.%s.%s.%s.%d", query, positionToken(p), walk, page)
}

// pagePieceSubject is for what the message of a page does not hold. Two attempts may be at the same page.
func pagePieceSubject(query string, p messages.Position, walk string, page int, attempt string, n int) string {
	return fmt.Sprintf("%s.%s.%d", pageSubject(query, p, walk, page), attempt, n)
}

func pagePiecesOf(query string, p messages.Position, walk string, page int, attempt string) string {
	return fmt.Sprintf("%s.%s.*", pageSubject(query, p, walk, page), attempt)
}

// pagesAt is the pages of a position's walks, without their pieces.
func pagesAt(query string, p messages.Position) string {
	return fmt.Sprintf("braid.page.%s.%s.*.*", query, positionToken(p))
}

func allAt(query string, p messages.Position) string {
	return fmt.Sprintf("braid.page.%s.%s.>", query, positionToken(p))
}

// pageHeadsOf is the pages of all walks of a query, without their pieces.
func pageHeadsOf(query string) string { return fmt.Sprintf("braid.page.%s.*.*.*", query) }

func pagesOf(query string) string { return fmt.Sprintf("braid.page.%s.>", query) }

// positionToken keeps a position in one token, so that those of its children do not match.
func positionToken(p messages.Position) string { return strings.ReplaceAll(string(p), ".", "-") }

// partsAndPagesOf is all that PARTS holds of a query.
func partsAndPagesOf(query string) string { return fmt.Sprintf("braid.*.%s.>", query) }

func partsOf(query string) string { return fmt.Sprintf("braid.part.%s.>", query) }

func eventSubject(query, kind string) string { return fmt.Sprintf("braid.event.%s.%s", query, kind) }

func eventsOf(query string) string { return fmt.Sprintf("braid.event.%s.>", query) }
