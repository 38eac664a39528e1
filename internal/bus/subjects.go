package bus

import (
	"fmt"

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

func partsOf(query string) string { return fmt.Sprintf("braid.part.%s.>", query) }

func eventSubject(query, kind string) string { return fmt.Sprintf("braid.event.%s.%s", query, kind) }

func eventsOf(query string) string { return fmt.Sprintf("braid.event.%s.>", query) }
