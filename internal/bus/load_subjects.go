package bus

import (
	"fmt"
	"strings"
)

// Names of what load runs keep.
const (
	streamLoadItems = "LOAD_ITEMS"
	streamLoad      = "LOAD"

	bucketLoad    = "braid_load"
	bucketErrands = "braid_errands" // apart from what workers only read
	bucketTokens  = "braid_tokens"  // of workers alone
)

func loadItemSubject(run string, number int) string {
	return fmt.Sprintf("braid.load.item.%s.%d", run, number)
}

func loadItemsOf(run string) string { return fmt.Sprintf("braid.load.item.%s.>", run) }

func executionSubject(run string, number, attempt int) string {
	return fmt.Sprintf("braid.load.execution.%s.%d.%d", run, number, attempt)
}

func executionsAt(run string, number int) string {
	return fmt.Sprintf("braid.load.execution.%s.%d.*", run, number)
}

func admissionSubject(run string, number, attempt int, repeat bool) string {
	last := 0
	if repeat {
		last = 1
	}
	return fmt.Sprintf("braid.load.admission.%s.%d.%d.%d", run, number, attempt, last)
}

// recordsOf is the admissions and executions of a run: of what begins with its id, nothing else has two tokens and more behind it.
func recordsOf(run string) string { return fmt.Sprintf("braid.load.*.%s.*.>", run) }

func closedSubject(run string, place int) string {
	return fmt.Sprintf("braid.load.closed.%s.%d", run, place)
}

// sealedSubject spreads the records of a run over as many subjects as it has places: a cluster refuses two at a time that are checked
// against one and the same.
func sealedSubject(run string, shard int) string {
	return fmt.Sprintf("braid.load.sealed.%s.%d", run, shard)
}

func selectionSubject(run, part string) string {
	return fmt.Sprintf("braid.load.selection.%s.%s", run, part)
}

func snapshotSubject(id, part string) string {
	return fmt.Sprintf("braid.load.snapshot.%s.%s", id, part)
}

// loadKind tells what is stored under a subject of LOAD: execution, admission, and so on.
func loadKind(subject string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(subject, "braid.load."), ".")
	return kind
}
