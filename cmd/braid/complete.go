package main

import (
	"github.com/spf13/cobra"
)

// completeNames completes names of services and collections in flags.
func (a *app) completeNames(cmd *cobra.Command) {
	for _, flag := range []struct {
		name     string
		complete cobra.CompletionFunc
	}{{"service", a.completeService}, {"collection", a.completeCollection}} {
		if err := cmd.RegisterFlagCompletionFunc(flag.name, flag.complete); err != nil {
			panic(err) // the flag is not declared
		}
	}
}

// completeService completes the name of a service as the first argument, or as the value of a flag.
func (a *app) completeService(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || !a.settled(cmd) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.definitions().Names(), cobra.ShellCompDirectiveNoFileComp
}

// completeCollection completes the name of a collection of the service that --service or the first argument names.
func (a *app) completeCollection(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	name := first(args)
	if flag := cmd.Flags().Lookup("service"); flag != nil && flag.Value.String() != "" {
		name = flag.Value.String()
	}
	if name == "" || !a.settled(cmd) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := a.definitions().Open(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, len(d.Collections))
	for i, c := range d.Collections {
		names[i] = c.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// settled resolves the settings for a completion. They have been resolved once for the completing command itself, which
// has not seen the flags on the line.
func (a *app) settled(cmd *cobra.Command) bool {
	for name, value := range map[string]*string{"services-dir": &a.servicesDir, "data-dir": &a.dataDir} {
		if !cmd.Flags().Changed(name) {
			*value = ""
		}
	}
	return a.setUp(cmd) == nil
}
