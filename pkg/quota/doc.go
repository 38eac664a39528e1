// Package quota says when the next request of a quota pool may be sent. A Ledger is plain data (messages.QuotaLedger) that
// all processes share by compare-and-set; this package changes it and reads it, and knows no clock and no store.
//
// A process reserves units before it sends, and tells afterwards what was spent. What it neither used nor gave back when its
// reservation ends counts as spent, so that a process that dies costs units and never a refusal. When it is there after all, its
// next exchange says what became of them, and what was not spent comes back.
//
//	Exchange: reservation ──▶ requests ──▶ spends of a window, at most 256 buckets of time, each rounded to be later
//	                 └── deadline over ──────▲
//
// How many units are left is told by two bookkeepers. Our own: limit less what was spent in the last window (rolling), since the
// window began (fixed, when a reset has told where windows begin; else as rolling, which never allows more), or what a bucket
// has; less what is reserved. The service's: what it said to be left with its newest answer, less what was spent since that answer's
// request was sent, plus those of our units that have come back since. Its word outranks ours for a window, or until the reset
// that it names: a lower one means that somebody else spends the same quota, a higher one that we believed too little.
//
// What people are shown is our own count, where it lies between the least and the most that the service's word leaves open.
//
// After a refusal nothing is sent before the time that it named; then one request asks, and what its answer says holds.
//
// The ledger's clock is the newest instant that any process has told, so a clock that is set back allows nothing. One that
// ran ahead by more than a day is taken for wrong, and what it wrote is moved to now.
package quota
