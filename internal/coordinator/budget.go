package coordinator

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// assumedLatency is how long a request is taken to last when a plan's time is reckoned, before anything was measured.
const assumedLatency = 2 * time.Second

// budget measures the plan against the service's quotas, and reckons the time. Where the number of requests is not
// expected, it reckons with the least.
func (p *pinned) budget(s *messages.PlanSummary, hasKey func(*service.Definition) bool) {
	requests := max(s.ExpectedRequests, s.LeastRequests)
	transfer := transferTime(requests, s)
	total := transfer
	for _, declared := range p.definition.Quotas {
		if len(s.Quotas) == maxShownQuotas {
			break
		}
		quota := planQuota(p.definition, declared, hasKey)
		units, unknown := unitsOf(quota.Counts, requests, s)
		usable := quota.Limit - quota.HoldBack
		switch {
		case units == 0: // and unknown says why
		case quota.Limit == 0:
			unknown = "its limit is not known before the first answer"
		case usable < 1:
			unknown = "what is held back leaves nothing of the limit"
		default:
			quota.Windows = windowsOf(units, usable)
			total = max(total, withWaits(requests, quota.Windows, declared, s))
		}
		if quota.Windows == 1 && unknown == "" && quota.Key == messages.KeyUnknown {
			unknown = withoutKey(units, declared)
		}
		quota.Unknown = unknown
		s.Quotas = append(s.Quotas, quota)
	}
	s.Latency = assumedLatency.Milliseconds()
	s.Seconds, s.Waited = roundUp(total), roundUp(total-transfer)
}

const maxShownQuotas = 16

// unitsOf is how many units of a quota the plan spends: at least so many where why says that it may be more, and 0 when
// nothing is known.
func unitsOf(counts string, requests int64, s *messages.PlanSummary) (units int64, why messages.Unknown) {
	switch {
	case counts == "rows":
		if s.RowsUnknown != "" {
			why = "how many rows come is not known"
		}
		return s.EstimatedRows, why
	case counts == "bytes":
		return 0, "how many bytes come is not known"
	case s.ExpectedRequests == 0:
		why = "how many requests it takes is not known"
	}
	return requests, why
}

func windowsOf(units, usable int64) int64 { return (units + usable - 1) / usable }

// withoutKey says why it is not known that units fit, when the workers may have no key; empty: they fit anyway.
func withoutKey(units int64, quota service.Quota) messages.Unknown {
	limit := quota.AnonymousLimit
	if !limit.Observe && (limit.Limit == 0 || units <= limit.Limit-quota.HoldBack) {
		return ""
	}
	return "the limit without a key is another one, and whether the workers have one is not known here"
}

func roundUp(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// planQuota is the quota with the limit that is believed: that of requests without a key when there is none.
func planQuota(d *service.Definition, declared service.Quota, hasKey func(*service.Definition) bool) messages.PlanQuota {
	quota := messages.PlanQuota{
		Pool: declared.Pool, Counts: string(declared.Counts), Limit: declared.Limit, HoldBack: declared.HoldBack,
		Window: roundUp(declared.Window), Model: string(declared.Model),
	}
	switch {
	case len(d.Credentials) == 0: // nobody has a key, so the one limit holds
	case hasKey == nil:
		quota.Key = messages.KeyUnknown
	case hasKey(d):
		quota.Key = messages.KeyFound
	default:
		quota.Key = messages.KeyMissing
		if declared.AnonymousLimit.Limit > 0 || declared.AnonymousLimit.Observe {
			quota.Limit, quota.Anonymous = declared.AnonymousLimit.Limit, true
		}
	}
	return quota
}

// transferTime is how long requests take without a quota. The pages of a chunk come one after another.
func transferTime(requests int64, s *messages.PlanSummary) time.Duration {
	lanes := int64(max(1, min(s.InFlight, s.Chunks)))
	const most = 1_000_000_000 // a plan of more is never run, and its time would not fit
	return time.Duration(min(most, max((requests+lanes-1)/lanes, s.LongestWalk))) * assumedLatency
}

// withWaits is how long requests take that fill so many windows of a quota of which nothing was spent before. A bucket
// fills while it is used; other quotas give nothing until the window of what was spent is over.
func withWaits(requests, windows int64, quota service.Quota, s *messages.PlanSummary) time.Duration {
	if windows <= 1 {
		return 0
	}
	const longest = 100 * 365 * 24 * time.Hour
	if windows-1 > int64(longest/quota.Window) {
		return longest
	}
	waited := time.Duration(windows-1) * quota.Window
	if quota.Model == "bucket" {
		return waited
	}
	perWindow := (requests + windows - 1) / windows
	last := requests - (windows-1)*perWindow
	return waited + transferTime(max(1, last), &messages.PlanSummary{InFlight: s.InFlight, Chunks: s.Chunks})
}
