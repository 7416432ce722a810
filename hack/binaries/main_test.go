package main

import (
	"slices"
	"testing"
)

func TestProgramsAreSelectedByPatterns(t *testing.T) {
	all := []string{"etcd", "kubelet", "kubelet-1.36.3", "kube-proxy-1.36.3"}
	for name, c := range map[string]struct{ patterns, except, want []string }{
		"all":                          {want: all},
		"names in the given order":     {patterns: []string{"kubelet", "etcd"}, want: []string{"kubelet", "etcd"}},
		"a pattern":                    {patterns: []string{"*-1.36.*"}, want: []string{"kubelet-1.36.3", "kube-proxy-1.36.3"}},
		"all except a pattern and one": {except: []string{"*-1.36.*", "etcd"}, want: []string{"kubelet"}},
		"an exception that is no name": {except: []string{""}, want: all},
		"a pattern with an exception":  {patterns: []string{"kubelet*"}, except: []string{"kubelet"}, want: []string{"kubelet-1.36.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := selected(all, c.patterns, c.except)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	if _, err := selected(all, []string{"etdc"}, nil); err == nil {
		t.Error("a name that does not exist is accepted")
	}
}
