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
func (p *pinned) budget(s *messages.PlanSummary, opts PlanOptions) {
	requests := max(s.ExpectedRequests, s.LeastRequests)
	transfer := transferTime(requests, s)
	total := transfer
	for _, declared := range p.definition.Quotas {
		if len(s.Quotas) == maxShownQuotas {
			break
		}
		quota := planQuota(p.definition, declared, opts.HasKey)
		if quota.Counts == "requests" {
			quota.HoldBack = max(quota.HoldBack, p.spec.Run.HoldBack)
		}
		now := p.stand(&quota, opts)
		units, unknown := unitsOf(quota.Counts, requests, s)
		usable := quota.Limit - quota.HoldBack
		switch {
		case units == 0: // and unknown says why
		case quota.Limit == 0:
			unknown = "its limit is not known before the first answer"
		case usable < 1:
			unknown = "what is held back leaves nothing of the limit"
		default:
			first := usable
			if quota.Left != nil {
				first = max(0, min(usable, *quota.Left-quota.HoldBack))
			}
			quota.Windows = windowsOf(units, first, usable)
			waits := withWaits(requests, quota.Windows, declared, s)
			if quota.Windows > 1 {
				waits -= now.sooner(first, usable)
			}
			total = max(total, waits)
		}
		if quota.Windows == 1 && unknown == "" && quota.Key == messages.KeyUnknown && !now.observed {
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

// windowsOf is how many windows units fill, the first of which has some left.
func windowsOf(units, first, usable int64) int64 {
	return 1 + (max(0, units-first)+usable-1)/usable
}

// stands is what of a pool's account counts for the time that a plan takes.
type stands struct {
	observed bool          // the limit is what the service said
	named    bool          // the service has said when units come back
	earlier  time.Duration // than a window from now, all that was spent is back
}

// stand puts into a plan's quota what is left of it.
func (p *pinned) stand(quota *messages.PlanQuota, opts PlanOptions) stands {
	if opts.Standing == nil {
		return stands{}
	}
	s, why := opts.Standing(p.definition, quota.Pool)
	if s != nil && s.Counts != quota.Counts {
		s, why = nil, NeverSpent // another definition's pool of this name
	}
	if s == nil || s.Limit == 0 || s.Left == nil {
		if why == "" {
			why = "the service has not said its limit yet"
		}
		quota.LeftUnknown = why
		return stands{}
	}
	if s.Observed {
		quota.Limit, quota.Anonymous = s.Limit, false
	}
	quota.Left, quota.Back = s.Left, s.Next
	now := stands{observed: s.Observed}
	back := s.Updated.Add(time.Duration(s.Window) * time.Second)
	if s.Model == "fixed" {
		back = s.Next
	}
	if s.Reset.After(opts.Now) {
		back, now.named = s.Reset, true
	}
	if !back.IsZero() {
		now.earlier = max(0, min(time.Duration(quota.Window)*time.Second, opts.Now.Add(time.Duration(quota.Window)*time.Second).Sub(back)))
	}
	return now
}

// sooner is by how much the first wait is shorter than a window: where nothing is left now, what was spent comes back before.
func (s stands) sooner(first, usable int64) time.Duration {
	if first > 0 && !s.named || usable < 1 {
		return 0
	}
	return s.earlier
}

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
