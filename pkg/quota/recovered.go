package quota

import (
	"cmp"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// Recovered is the stored account, completed by a copy that a process knows from before the account was lost: begun anew by somebody
// who knew less, or gone. Neither is changed. All copies of a lost account are beginnings of one history, so that of what two of them
// say of one time the greater number is right; what was spent since it was begun again stands apart from that by a nanosecond.
func Recovered(have, known *messages.QuotaLedger) *messages.QuotaLedger {
	switch {
	case known == nil || have != nil && (have.Begun == known.Begun || known.Begun == 0):
		return have
	case have == nil:
		all := clone(known)
		all.Begun = 0 // Exchange says when
		for i := range all.Spent {
			all.Spent[i].To++
		}
		return all
	}
	all := clone(have)
	for _, s := range known.Spent {
		s.To++
		i, same := slices.BinarySearchFunc(all.Spent, s.To, func(have messages.QuotaSpend, to int64) int { return cmp.Compare(have.To, to) })
		if !same {
			all.Spent = slices.Insert(all.Spent, i, s)
		} else if s.Units > all.Spent[i].Units {
			s.From = min(s.From, all.Spent[i].From)
			all.Spent[i] = s
		}
	}
	for len(all.Spent) > messages.MaxQuotaSpends {
		all.Spent[1] = joined(all.Spent[0], all.Spent[1])
		all.Spent = all.Spent[1:]
	}
	for _, r := range known.Reserved {
		same := func(have messages.QuotaReservation) bool { return have.Holder == r.Holder }
		if len(all.Reserved) < messages.MaxQuotaReservations && !slices.ContainsFunc(all.Reserved, same) {
			all.Reserved = append(all.Reserved, r)
		}
	}
	if !all.Observed && known.Observed {
		all.Limit, all.Observed = known.Limit, true
	}
	if all.Phase == 0 {
		all.Phase = known.Phase
	}
	if all.Reading == nil {
		all.Reading = known.Reading
	}
	all.Total, all.Full = max(all.Total, known.Total), max(all.Full, known.Full)
	all.Refused, all.Latest = max(all.Refused, known.Refused), max(all.Latest, known.Latest)
	return all
}
