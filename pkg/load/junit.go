package load

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Time       string          `xml:"time,attr"` // seconds
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Output     string          `xml:"system-out,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit gives a report as a JUnit file, for CI: one test case for how the run ended, and one for each threshold. Findings and
// diagnostics are in its output: they demand nothing.
func JUnit(r *Report) ([]byte, error) {
	suite := junitSuite{
		Name: "load." + r.Profile, Time: seconds(r.Started, r.Ended), Properties: []junitProperty{
			{"run", r.Run},
			{"profile", fmt.Sprintf("%s revision %d", r.Profile, r.Revision)},
			{"environment", r.Environment},
			{"dashboard", r.Dashboard},
			{"selection_hash", r.Selection},
			{"effective_capacity", fmt.Sprint(r.Capacity.Effective)},
			{"requests_sent", fmt.Sprint(r.RequestsSent)},
		},
	}
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05Z")
	}
	suite.Cases = append(suite.Cases, endingCase(r))
	for _, j := range r.Thresholds {
		c := junitCase{Class: suite.Name + ".thresholds", Name: j.words()}
		if !j.Passed {
			c.Failure = &junitFailure{Message: j.Reason, Text: fmt.Sprintf("observed %q over %s", j.Observed, plural(j.Samples, "sample", "samples"))}
		}
		suite.Cases = append(suite.Cases, c)
	}
	var out strings.Builder
	for _, d := range r.Diagnostics {
		fmt.Fprintf(&out, "%s: %s\n", d.Code, d.Text)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "data differs: chart %d, role %q, time range %q: %d digests%s\n", f.Chart, f.Role, f.TimeRange, len(f.Digests), f.remark())
	}
	suite.Output = out.String()
	for _, c := range suite.Cases {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
	}
	text, err := xml.MarshalIndent(junitSuites{Name: "braid load", Tests: suite.Tests, Failures: suite.Failures, Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit of run %s: %w", r.Run, err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func endingCase(r *Report) junitCase {
	c := junitCase{Class: "load." + r.Profile, Name: "the run completes"}
	if r.State == Ended && r.Ending == Completed {
		return c
	}
	c.Failure = &junitFailure{Message: strings.TrimSuffix(fmt.Sprintf("%s %s: %s", r.State, r.Ending, r.Reason), ": ")}
	if r.Trip != nil {
		for _, t := range r.Trip.Triggers {
			c.Failure.Text += fmt.Sprintf("%s was %s at completion %d, threshold %s\n", t.Metric, t.Observed, r.Trip.AtCompleted, t.Threshold)
		}
	}
	return c
}

func seconds(from, to time.Time) string {
	if from.IsZero() || to.Before(from) {
		return "0"
	}
	return fmt.Sprintf("%.3f", to.Sub(from).Seconds())
}

// words say what a threshold demands.
func (t Threshold) words() string {
	text := t.Metric
	if t.Chart != 0 {
		text += fmt.Sprintf(", chart %d", t.Chart)
	}
	if t.Role != "" {
		text += ", role " + t.Role
	}
	if t.Cache != "" {
		text += ", " + t.Cache
	}
	if t.Max != "" {
		text += ", at most " + t.Max
	}
	if t.Min != "" {
		text += ", at least " + t.Min
	}
	return text
}

func (f Finding) remark() string {
	var text string
	if f.TimeDependent {
		text += ", time dependent"
	}
	if f.OrderOnly {
		text += ", in their order alone"
	}
	return text
}
