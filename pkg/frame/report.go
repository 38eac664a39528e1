package frame

// Report tells what became of the rows. It depends on the rows and the shape alone.
type Report struct {
	Read       int64        `json:"read"`               // rows read from the results
	Rows       int64        `json:"rows"`               // rows of the table
	Duplicates int64        `json:"duplicates"`         // rows left out because another row of the same key stayed
	Different  int64        `json:"different"`          // of these, such as are not equal to the row that they gave way to
	Replaced   int64        `json:"replaced,omitempty"` // rows of an earlier run that one of another run took the place of; not counted as duplicates
	Bad        []BadField   `json:"bad,omitempty"`      // in column order, then what casts found, in the order of the casts
	Unknown    []string     `json:"unknown,omitempty"`  // fields that no declaration names, in first-seen order, kept or dropped
	Moved      []MovedField `json:"moved,omitempty"`    // in column order
	Absent     []string     `json:"absent,omitempty"`   // columns that finalize or the query names, that no field declares by its exact name, and that no row has

	// Summary is there when the table was written with one.
	Summary *Summary `json:"summary,omitempty"`
}

// MovedField is a column that no field declares by its exact name, and whose name finalize gave to another.
type MovedField struct {
	Name string `json:"name"` // as the service sends it
	As   string `json:"as"`   // as it is in the table
}

// BadField counts the values of a column that do not fit its type and are null in the table. All rows read count,
// duplicates too; a cast counts the rows that were left when it ran, without duplicates.
type BadField struct {
	Name      string   `json:"name"` // as it was where the value was read: by the service, or by the cast
	Type      Type     `json:"type"`
	Count     int64    `json:"count"`
	Originals []string `json:"originals"` // the first ten, in position order, each cut to 200 bytes
}

const maxOriginals = 10

func (b *BadField) add(text string) {
	b.Count++
	if len(b.Originals) < maxOriginals {
		b.Originals = append(b.Originals, clip(text))
	}
}
