package main

import "testing"

func TestOneThingIsNotSeveral(t *testing.T) {
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 2: "2 rows", 21960: "21,960 rows"} {
		if got := count(n, "row"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
