package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/settings"
)

func (a *app) manCommand() *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use: "man", Short: "Write the manual: a page for each command", Args: cobra.NoArgs,
		Long: `Writes the manual of all commands into a folder, as man pages or as Markdown. What is there of it is replaced.`,
		Example: `  braid man --dir ~/.local/share/man/man1
  braid man --dir docs/cli --format markdown`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pages, err := manual(cmd.Root(), format)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manuals are for everybody
				return fmt.Errorf("manual: %w", err)
			}
			for _, p := range pages {
				if err := os.WriteFile(filepath.Join(dir, p.name), p.text, 0o644); err != nil { //nolint:gosec // likewise
					return fmt.Errorf("manual: %w", err)
				}
			}
			if a.json {
				names := make([]string, len(pages))
				for i, p := range pages {
					names[i] = p.name
				}
				return a.printJSON(map[string]any{"dir": dir, "pages": names})
			}
			_, err = fmt.Fprintf(a.stdout, "%s in %s\n", count(int64(len(pages)), "page"), dir)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "man", "folder to write into")
	cmd.Flags().StringVar(&format, "format", "man", "man or markdown")
	settings.OnlyFlags(cmd.Flags(), "dir", "format")
	return cmd
}

// page is one page of the manual.
type page struct {
	name string
	text []byte
}

// manual gives a page for each command, in the order of the tree. Equal builds give equal bytes: no page has a date of its making.
func manual(root *cobra.Command, format string) ([]page, error) {
	if format != "man" && format != "markdown" {
		return nil, usage("--format is %q; use man or markdown", format)
	}
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	var pages []page
	var walk func(*cobra.Command) error
	walk = func(cmd *cobra.Command) error {
		if !cmd.IsAvailableCommand() {
			return nil
		}
		cmd.InitDefaultHelpFlag()
		var text bytes.Buffer
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		var err error
		if format == "man" {
			name += ".1"
			restore := escape(cmd)
			err = doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "braid " + buildinfo.Version(), Manual: "Braid", Date: new(time.Unix(0, 0).UTC())}, &text)
			restore()
		} else {
			name += ".md"
			err = doc.GenMarkdownCustom(cmd, &text, func(link string) string { return strings.ReplaceAll(link, "_", "-") })
		}
		if err != nil {
			return fmt.Errorf("manual: %s: %w", cmd.CommandPath(), err)
		}
		pages = append(pages, page{name, text.Bytes()})
		for _, sub := range cmd.Commands() {
			if err := walk(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return pages, walk(root)
}

// escape writes the texts of a command so that Markdown, through which man pages go, changes nothing of them.
func escape(cmd *cobra.Command) (restore func()) {
	long, usages := cmd.Long, map[*pflag.Flag]string{}
	cmd.Long = inMarkdown(long)
	each := func(flag *pflag.Flag) {
		if _, done := usages[flag]; !done {
			usages[flag] = flag.Usage
			flag.Usage = markdownEscapes().Replace(strings.ReplaceAll(flag.Usage, "`", ""))
		}
	}
	cmd.NonInheritedFlags().VisitAll(each)
	cmd.InheritedFlags().VisitAll(each)
	return func() {
		cmd.Long = long
		for flag, text := range usages {
			flag.Usage = text
		}
	}
}
