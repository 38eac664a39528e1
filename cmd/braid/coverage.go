package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) coverageCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "coverage [ID] [-o FILE]", Short: "Tell what came of each value that a query asks for",
		Example: `  braid coverage
  braid coverage k7f2c3aa -o coverage.csv`,
		Long: "Tells for each list of values that the query divides, such as sites, how many have rows, of how many the service said that there is\n" +
			"nothing, and how many were not fetched. With -o all values are written as csv, with the columns parameter, value, state and rows:\n\n" +
			"  rows         it has rows, and nothing of it is missing\n" +
			"  empty        the service said that there is nothing\n" +
			"  partly       it has rows, and some were not fetched\n" +
			"  not_fetched  nothing of it was fetched\n" +
			"  unclear      it was asked for with others, and the rows do not tell whose\n\n" +
			"Rows are counted as the service sent them, duplicates included. Nothing is asked of the service.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				coverage, err := s.Coverage(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				return a.showCoverage(coverage, out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "csv file to write; - is stdout")
	return cmd
}

func (a *app) showCoverage(c *messages.Coverage, out string) error {
	for _, line := range coverageLines(c) {
		a.line(line.label, "%s", line.text)
	}
	switch {
	case out == "-":
		return writeCoverage(a.stdout, c)
	case out != "":
		if _, err := output.Save(out, func(w writer) error { return writeCoverage(w, c) }); err != nil {
			return err
		}
		a.line("written", "%s", out)
	case a.json:
		return a.printJSON(c)
	}
	return nil
}

// coverageLines sums up the values of each parameter, in the words of a person who asks.
func coverageLines(c *messages.Coverage) []step {
	var lines []step
	for rest := c.Values; len(rest) > 0; {
		parameter, counts, n := rest[0].Parameter, map[messages.CoverageState]int64{}, 0
		for n < len(rest) && rest[n].Parameter == parameter {
			counts[rest[n].State]++
			n++
		}
		text := fmt.Sprintf("%s asked: %s with data, %s said to be empty, %s not fetched", thousands(int64(n)),
			thousands(counts[messages.CoveredWhole]+counts[messages.CoveredPartly]), thousands(counts[messages.SaidEmpty]), thousands(counts[messages.NotFetched]))
		if partly := counts[messages.CoveredPartly]; partly > 0 {
			text += fmt.Sprintf("; of %s only a part", thousands(partly))
		}
		if unclear := counts[messages.CoverageUnclear]; unclear > 0 {
			text += fmt.Sprintf("; of %s the rows do not tell", thousands(unclear))
		}
		label := "asked"
		if parameter == c.Sites {
			label = "sites"
		} else {
			text = strings.ReplaceAll(parameter, "\n", " ") + ": " + text
		}
		lines = append(lines, step{label, text})
		rest = rest[n:]
	}
	if len(lines) == 0 {
		lines = append(lines, step{"asked", "the query asks for no list of values"})
	}
	return lines
}

func writeCoverage(w io.Writer, c *messages.Coverage) error {
	table := csv.NewWriter(w)
	_ = table.Write([]string{"parameter", "value", "state", "rows"}) // Error tells of all writes
	for _, v := range c.Values {
		_ = table.Write([]string{v.Parameter, v.Value, string(v.State), strconv.FormatInt(v.Rows, 10)})
	}
	table.Flush()
	return table.Error()
}
