package messages_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func (d draw) instant() int64 {
	return rapid.Int64Range(0, 7_258_118_400_000_000_000).Draw(d.T, "instant")
}

func (d draw) ledger() wire {
	m := &messages.QuotaLedger{
		V: 1, Pool: d.name(), Owner: d.name(), Counts: d.name(), Model: rapid.SampledFrom([]string{"rolling", "fixed", "bucket"}).Draw(d.T, "model"),
		Window: time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Hour)).Draw(d.T, "window")), Limit: d.count(), HoldBack: d.count(),
		Total: d.count(), Latest: d.instant(), Sets: d.count(), Full: d.instant(), Phase: d.instant(), Refused: d.instant(),
	}
	at := int64(0)
	for range rapid.IntRange(0, 20).Draw(d.T, "spends") {
		at += rapid.Int64Range(1, 1<<40).Draw(d.T, "gap")
		m.Spent = append(m.Spent, messages.QuotaSpend{From: at, To: at, Units: 1 + d.count()/2})
	}
	if rapid.Bool().Draw(d.T, "reading") {
		m.Reading = &messages.QuotaReading{Remaining: d.count(), Total: d.count(), At: d.instant(), Reset: d.instant()}
	}
	return m
}

func (d draw) quotas() wire {
	m := &messages.QuotaList{V: 1}
	for range rapid.IntRange(0, 4).Draw(d.T, "pools") {
		m.Quotas = append(m.Quotas, messages.QuotaStanding{Pool: d.name(), Owner: d.name(), Counts: d.name(), Model: "fixed", Limit: d.count(), Left: new(d.count())})
	}
	return m
}
