package main

import (
	"strings"
	"testing"
)

func TestADocumentIsAnObjectWithAVersion(t *testing.T) {
	for _, test := range []struct {
		of   any
		want string
	}{
		{map[string]any{}, `{"v":1}`},
		{map[string]any{"url": "http://a/?b=1&c=<d>"}, `{"v":1,"url":"http://a/?b=1&c=<d>"}`},
		{map[string]any{"a": map[string]any{"v": 3}}, `{"v":1,"a":{"v":3}}`},
		{struct {
			A string `json:"a"`
			V int    `json:"v"`
		}{"x", 2}, `{"a":"x","v":2}`},
	} {
		got, err := asDocument(test.of)
		if err != nil {
			t.Errorf("%v: %v", test.of, err)
			continue
		}
		if flat := strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(string(got)); flat != test.want || !strings.HasSuffix(string(got), "\n") {
			t.Errorf("%v: %s", test.of, got)
		}
	}
	for _, of := range []any{[]int{1}, "text", nil, make(chan int)} {
		if got, err := asDocument(of); err == nil {
			t.Errorf("%v: %s", of, got)
		}
	}
}
