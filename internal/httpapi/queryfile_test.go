package httpapi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

const daily = "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n"

func TestAQueryFileIsReadAsTheQueryThatIsSubmitted(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	read, err := readQueryFile(&contract.QueryFile{
		Name: "flow.yaml", Text: daily + "  monitoring_location_id: {file: lists/sites.csv, column: site, prefix: USGS-}\n  time: {from: 2023-10-01, to: today}\noutput: out.csv\n",
		Files: map[string]string{"sites.csv": "site,name\n01013500,a\n01013500,again\n01022500,b\n"},
	}, nil, noon)
	if err != nil {
		t.Fatal(err)
	}
	sites, times := read.Spec.Values["monitoring_location_id"], read.Spec.Values["time"]
	if read.Spec.Name != "flow" || strings.Join(sites, " ") != "USGS-01013500 USGS-01022500" || strings.Join(times, " ") != "2023-10-01 2026-11-30" {
		t.Errorf("%+v", read.Spec)
	}
	if notes := strings.Join(read.Notes, "\n"); !strings.Contains(notes, "1 repeated value") || !strings.Contains(notes, "writes no files") {
		t.Errorf("notes %q", notes)
	}
}

func TestOfTheServerNoFileIsRead(t *testing.T) {
	for _, text := range []string{
		"  monitoring_location_id: {file: /etc/passwd}\n", "  monitoring_location_id: {file: ../../../etc/hostname}\n", "  monitoring_location_id: {file: queryfile_test.go}\n",
		"  monitoring_location_id: {from_query: /etc/passwd, column: a}\n", "  monitoring_location_id: [a]\nzone: ../../etc/passwd\n",
	} {
		_, err := readQueryFile(&contract.QueryFile{Name: "q.yaml", Text: daily + text}, nil, time.Now())
		var problems strictyaml.Errors
		if !errors.As(err, &problems) || problems[0].Line != 5 && problems[0].Line != 6 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProblemsOfAQueryFileNameTheirLines(t *testing.T) {
	_, err := readQueryFile(&contract.QueryFile{Name: "q.yaml", Text: daily + "  time: 1\nmax_chunk: 3\n"}, nil, time.Now())
	fields := fieldErrors(err)
	if len(fields) != 1 || fields[0].Line != 6 || fields[0].Location != "max_chunk" {
		t.Errorf("%+v of %v", fields, err)
	}
	if _, err = readQueryFile(&contract.QueryFile{Name: "q.yaml", Text: "a: [\n"}, nil, time.Now()); err == nil || len(fieldErrors(err)) != 1 || fieldErrors(err)[0].Line == 0 {
		t.Errorf("%+v of %v", fieldErrors(err), err)
	}
}

func TestAllProblemsOfAQueryFileAreToldAtOnce(t *testing.T) {
	definition := func(name string) (*service.Definition, error) {
		text, have := service.Builtin(name)
		if !have {
			return nil, fmt.Errorf("there is no service %q", name)
		}
		return service.Parse(name+".yaml", text)
	}
	const head = "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n"
	for name, test := range map[string]struct{ text, want string }{
		"a missing file, a key, a parameter and an order": {
			head + "  monitoring_location_id: {file: sites.csv, column: site_no}\n  nonsense: 1\n  time: {from: 2023-10-01, to: 2023-09-01}\nmax_chunk: 3\n", "5 6 7 8",
		},
		"values of a query, and a missing file": {head + "  monitoring_location_id: {from_query: a.yaml, column: x}\n  parameter_code: {file: codes.csv}\n", "5 6"},
		"an unknown service and a missing file": {strings.Replace(head, "-waterdata", "-waterdta", 1) + "  a: {file: b}\n", "2 5"},
		"an unknown collection and a key":       {strings.Replace(head, "daily", "dialy", 1) + "  a: b\nmax_chunk: 3\n", "3 6"},
		"no YAML":                               {"a: [\n", "2"},
	} {
		_, err := readQueryFile(&contract.QueryFile{Name: "q.yaml", Text: test.text}, definition, time.Now())
		var lines []string
		for _, field := range fieldErrors(err) {
			lines = append(lines, strconv.Itoa(field.Line))
		}
		if strings.Join(lines, " ") != test.want {
			t.Errorf("%s: lines %v, want %s: %v", name, lines, test.want, err)
		}
	}
	if _, err := readQueryFile(&contract.QueryFile{Name: "q.yaml", Text: head + "  monitoring_location_id: USGS-01013500\n  parameter_code: '00060'\n"}, definition, time.Now()); err != nil {
		t.Error(err)
	}
}

func FuzzQueryFile(f *testing.F) {
	f.Add([]byte(`{"name":"q.yaml","text":"schema: query/v1\nservice: s\ncollection: c\nwhere: {a: {file: b}}\n","files":{"b":"1\n2"}}`))
	f.Add([]byte(`{"text":"a: &a [*a]"}`))
	f.Add([]byte(`{"text":"","files":{"":""}} {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := contract.DecodeQueryFile(data)
		if err != nil {
			return
		}
		read, err := readQueryFile(file, nil, time.Unix(1_800_000_000, 0))
		if err != nil {
			return
		}
		if _, err := read.Spec.Encode(); err != nil {
			t.Errorf("a query that was read cannot be submitted: %v", err)
		}
	})
}
