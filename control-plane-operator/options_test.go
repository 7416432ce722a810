package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/operator"
)

func TestFlagsThatCannotBe(t *testing.T) {
	for name, spoil := range map[string]func(*operator.Options){
		"":                     func(*operator.Options) {},
		"--namespace":          func(o *operator.Options) { o.Namespace = "" },
		"--image":              func(o *operator.Options) { o.Image = "" },
		"--resync-period":      func(o *operator.Options) { o.ResyncPeriod = 0 },
		"--identity-interval":  func(o *operator.Options) { o.IdentityInterval = -time.Second },
		"--api-start-interval": func(o *operator.Options) { o.APIStartInterval = 0 },
		"--api-interval":       func(o *operator.Options) { o.APIInterval = 0 },
	} {
		o := operator.Options{Namespace: "clusters-demo", Image: "image", ResyncPeriod: time.Minute, IdentityInterval: time.Minute, APIStartInterval: time.Second, APIInterval: time.Second}
		spoil(&o)
		if err := check(o); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
