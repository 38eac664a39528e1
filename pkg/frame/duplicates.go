package frame

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// ErrDifferentDuplicates is wrapped when rows of one key differ and the shape says that they must not.
var ErrDifferentDuplicates = errors.New("rows of the same key differ")

// duplicates finds rows of the same key. Key parts compare as values of their types: timestamps as instants, numbers by
// value, texts by bytes.
type duplicates struct {
	columns []storedColumn
	key     []int // the columns of the key; none: nothing is a duplicate
	rule    DuplicateRule
	newest  int                 // the column of Shape.NewestBy, -1 when there is none
	stays   map[keyDigest]int64 // key → index of the row that stays, by admission
	scratch []byte
	row     Row
}

// keyDigest stands for a key. Half a SHA-256 holds 2^64 tries of collisions on purpose and spares the keys' bytes.
type keyDigest [sha256.Size / 2]byte

func newDuplicates(shape Shape, l *layout) *duplicates {
	d := &duplicates{
		columns: l.columns, rule: shape.OnDuplicate, newest: -1,
		stays: make(map[keyDigest]int64), row: make(Row, len(l.columns)),
	}
	if i, found := l.index[shape.NewestBy]; found && shape.OnDuplicate == KeepNewest {
		d.newest = i
	}
	for _, name := range shape.Key {
		i, found := l.index[name]
		switch {
		case found && i != dropped && l.seen[name]:
			d.key = append(d.key, i)
		case shape.OnDuplicate != FailIfDifferent:
			// Without this part rows that differ would have one key, and be left out in silence.
			d.key = nil
			return d
		}
	}
	return d
}

// verdict tells what to do with a row: leave it out, or let it stay in place of the earlier row with index replaces.
type verdict struct {
	leaveOut bool
	replaces int64 // -1: of no row
}

// judge decides about a row whose record would be stored at index len(stored).
func (d *duplicates) judge(row Row, data []byte, stored []record) (verdict, error) {
	stay := verdict{replaces: -1}
	digest, ok := d.digest(row)
	if !ok {
		return stay, nil
	}
	index, known := d.stays[digest]
	if !known {
		d.stays[digest] = int64(len(stored))
		return stay, nil
	}
	switch {
	case d.rule == FailIfDifferent && string(stored[index]) != string(data):
		return verdict{}, d.difference(row, stored[index])
	case d.rule == KeepNewest && d.newer(row, stored[index]):
		d.stays[digest] = int64(len(stored))
		return verdict{replaces: index}, nil
	}
	return verdict{leaveOut: true}, nil
}

func (d *duplicates) digest(row Row) (digest keyDigest, ok bool) {
	d.scratch = d.scratch[:0]
	for _, i := range d.key {
		if row[i].Null {
			return digest, false
		}
		d.scratch = appendKey(d.scratch, d.columns[i].Type, row[i])
	}
	sum := sha256.Sum256(d.scratch)
	return keyDigest(sum[:len(digest)]), len(d.key) > 0
}

// newer tells whether row is newer than an earlier one; a row without a time is older than every row with one.
func (d *duplicates) newer(row Row, earlier record) bool {
	if d.newest < 0 || row[d.newest].Null {
		return false
	}
	earlier.read(d.row)
	if d.row[d.newest].Null {
		return true
	}
	t := d.columns[d.newest].Type
	return bytes.Compare(appendKey(nil, t, row[d.newest]), appendKey(nil, t, d.row[d.newest])) > 0
}

func (d *duplicates) difference(row Row, earlier record) error {
	earlier.read(d.row)
	var parts []string
	for _, i := range d.key {
		parts = append(parts, fmt.Sprintf("%s=%q", d.columns[i].Name, clip(row[i].Text)))
	}
	for i, v := range row {
		if v != d.row[i] {
			return fmt.Errorf("%w: key %s, column %q is %s and %s; name the column that tells them apart in key, or change on_duplicate",
				ErrDifferentDuplicates, strings.Join(parts, ", "), d.columns[i].Name, shown(d.row[i]), shown(v))
		}
	}
	return nil
}

func shown(v Value) string {
	if v.Null {
		return "null"
	}
	return fmt.Sprintf("%q", clip(v.Text))
}
