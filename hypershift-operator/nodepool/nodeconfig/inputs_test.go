package nodeconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
)

// allSettings are settings of a cluster with every field.
func allSettings() nodeconfig.ClusterSettings {
	return nodeconfig.ClusterSettings{
		MachineNetworks: []string{"10.0.0.0/16"}, PodNetworks: []string{"10.132.0.0/14"}, ServiceNetworks: []string{"172.31.0.0/16"},
		Proxy:       nodeconfig.Proxy{HTTP: "http://a", HTTPS: "http://b", NoProxy: "c", TrustedCA: nodeconfig.Source{Name: "d", Text: "proxy\n"}},
		TrustBundle: nodeconfig.Source{Name: "e", Text: "bundle\n"},
		SSHKey:      nodeconfig.Source{Name: "f", Text: "ssh-ed25519 AAAA me\n"},
	}
}

// The hash is part of the name of every template: another hash of the same inputs replaces every node of every cluster. If
// this test fails, change the code until it passes, not the hashes.
func TestTheHashOfUnchangedInputsIsTheSameInEveryVersion(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		cluster nodeconfig.ClusterSettings
		also    []string
		want    string
	}{
		"no settings":                             {want: "44136fa355b3678a1146"},
		"a version only":                          {also: []string{"v1.36.3"}, want: "1b14b76d367bbfa42d84"},
		"networks of the cluster only":            {cluster: inputs().Cluster, want: "44136fa355b3678a1146"},
		"a kubelet configuration":                 {texts: []string{kubeletText}, want: "664d728d931bf57ddc17"},
		"files and units":                         {texts: []string{machineText}, want: "a69c200b5ecbd7c1105f"},
		"mirrors":                                 {texts: []string{mirrorText}, want: "c5795c77a5e7199eda92"},
		"all settings of a pool, two versions":    {texts: []string{kubeletText, machineText, mirrorText}, also: []string{"v1.36.3", "x"}, want: "e589b1d62656d575936f"},
		"all settings of a cluster":               {cluster: allSettings(), want: "f27eed9f5292b1f587d8"},
		"all settings of a cluster and a version": {cluster: allSettings(), also: []string{"v1.36.3"}, want: "d95f4094603111e32c92"},
	} {
		t.Run(name, func(t *testing.T) {
			in := nodeconfig.Inputs{Pool: parse(t, c.texts...), Cluster: c.cluster}
			got, err := in.Hash(c.also...)
			if err != nil || got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
			if again, _ := stored(t, in).Hash(c.also...); again != got {
				t.Errorf("the stored inputs have hash %s, before it was %s", again, got)
			}
		})
	}
}

func TestTheHashCoversTheConfigurationAndNotItsForm(t *testing.T) {
	hash := func(c nodeconfig.Config) string {
		text, err := configured(c).Hash()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := hash(parse(t, kubeletText, mirrorText))
	same := strings.Replace(kubeletText, "maxPods: 110", "maxPods:   110 # as many as addresses", 1)
	c, problems := nodeconfig.Parse([]nodeconfig.Source{{Name: "z", Text: mirrorText}, {Name: "y", Text: same}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if hash(c) != want {
		t.Errorf("comments, names and order changed the hash")
	}
	other := strings.Replace(kubeletText, "maxPods: 110", "maxPods: 111", 1)
	if hash(parse(t, other, mirrorText)) == want {
		t.Errorf("another number of pods has the same hash")
	}
}

func TestListsWithDifferentBoundariesHaveDifferentHashes(t *testing.T) {
	a, _ := nodeconfig.Inputs{}.Hash("ab", "c")
	b, _ := nodeconfig.Inputs{}.Hash("a", "bc")
	if a == b {
		t.Error("the items of the list run together")
	}
}

func TestNamesAndProxySettingsReplaceMachinesAndTextsDoNot(t *testing.T) {
	before, _ := nodeconfig.Inputs{Cluster: allSettings()}.Hash()
	for name, c := range map[string]struct {
		change   func(*nodeconfig.ClusterSettings)
		replaces bool
	}{
		"another HTTP proxy":                    {func(c *nodeconfig.ClusterSettings) { c.Proxy.HTTP = "x" }, true},
		"another HTTPS proxy":                   {func(c *nodeconfig.ClusterSettings) { c.Proxy.HTTPS = "x" }, true},
		"other hosts without proxy":             {func(c *nodeconfig.ClusterSettings) { c.Proxy.NoProxy = "x" }, true},
		"another ConfigMap for the proxy":       {func(c *nodeconfig.ClusterSettings) { c.Proxy.TrustedCA.Name = "x" }, true},
		"another ConfigMap as trust bundle":     {func(c *nodeconfig.ClusterSettings) { c.TrustBundle.Name = "x" }, true},
		"another Secret with SSH keys":          {func(c *nodeconfig.ClusterSettings) { c.SSHKey.Name = "x" }, true},
		"new text in the ConfigMap of a proxy":  {func(c *nodeconfig.ClusterSettings) { c.Proxy.TrustedCA.Text = "x" }, false},
		"new text in the trust bundle":          {func(c *nodeconfig.ClusterSettings) { c.TrustBundle.Text = "x" }, false},
		"new text in the Secret with SSH keys":  {func(c *nodeconfig.ClusterSettings) { c.SSHKey.Text = "x" }, false},
		"networks, which a cluster cannot move": {func(c *nodeconfig.ClusterSettings) { c.MachineNetworks = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			settings := allSettings()
			c.change(&settings)
			after, err := nodeconfig.Inputs{Cluster: settings}.Hash()
			if err != nil || (after != before) != c.replaces {
				t.Errorf("replaces machines: %v (%v), want %v", after != before, err, c.replaces)
			}
		})
	}
}

func TestHostsWithoutProxyDoNotMatterWithoutAProxy(t *testing.T) {
	in := inputs()
	want, _ := in.Hash()
	in.Cluster.Proxy.NoProxy = "example.com"
	if got, _ := in.Hash(); got != want {
		t.Error("they replace machines")
	}
	if env, found := read(t, in, machine()).Files["/etc/kubernetes/environment"]; found {
		t.Errorf("an environment was written: %s", env)
	}
}

func TestInputsAreStoredWithoutLoss(t *testing.T) {
	in := nodeconfig.Inputs{Pool: parse(t, kubeletText, machineText, mirrorText), Cluster: allSettings()}
	if diff := cmp.Diff(in, stored(t, in)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOtherTextIsNotTakenForInputs(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		"no configuration":         {},
		"a broken configuration":   {"config": []byte("}")},
		"broken cluster settings":  {"config": []byte("{}"), "cluster": []byte("}")},
		"empty cluster settings":   {"config": []byte("{}"), "cluster": {}},
		"a list instead of fields": {"config": []byte("[]")},
	} {
		if in, err := nodeconfig.Decode(data); err == nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
}
