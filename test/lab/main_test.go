package main

import (
	"slices"
	"testing"
)

func TestNumberOfArguments(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		args  []string
		words []string
		fails bool
	}{
		"of the management cluster":           {args: nil},
		"of a HostedCluster":                  {args: []string{"clusters", "one"}, words: []string{"clusters", "one"}},
		"a flag is between the other words":   {args: []string{"clusters", "--dir", "/lab", "one"}, words: []string{"clusters", "one"}},
		"a name without a namespace":          {args: []string{"one"}, fails: true},
		"more than a namespace and a name":    {args: []string{"clusters", "one", "two"}, fails: true},
		"a flag that the command has not got": {args: []string{"--zones", "3"}, fails: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			words, err := newArguments("kubeconfig", c.args).words(0, 2)
			if (err != nil) != c.fails || !slices.Equal(words, c.words) {
				t.Errorf("words are %q, error %v", words, err)
			}
		})
	}
}
