package get

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestGet(t *testing.T) {
	config := fixture.StartAPIServer(t, "../../../config/crd")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(fixture.Kubeconfig(config), kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	c, err := client.New(config, client.Options{Scheme: clustertree.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	create := func(obj client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"clusters", "other"} {
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, key := range []client.ObjectKey{{Namespace: "clusters", Name: "demo"}, {Namespace: "clusters", Name: "second"}, {Namespace: "other", Name: "third"}} {
		hc := testenv.PrivateCluster()
		hc.Namespace, hc.Name = key.Namespace, key.Name
		create(hc)
		if key.Name == "demo" {
			hc.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waiting", Message: "line 1\n\x1b[31mline 2", LastTransitionTime: metav1.Now()}}
			if err := c.Status().Update(t.Context(), hc); err != nil {
				t.Fatal(err)
			}
		}
		create(&hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name + "-a"}, Spec: hyperv1.NodePoolSpec{
			ClusterName: key.Name, Replicas: ptr.To[int32](2), Release: hyperv1.Release{Image: "example.test/release:1"}, Arch: hyperv1.ArchitectureAMD64,
			Management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace},
			Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
				InstanceType: "m5.large", Subnet: hyperv1.AWSResourceReference{ID: ptr.To("subnet-0a")},
			}},
		}})
	}

	for name, tc := range map[string]struct {
		command func(operation.Environment) *cobra.Command
		args    string
		// want are the words of each line that has to be there, and not are those that may not.
		want []string
		not  string
		err  string
	}{
		"a table of the namespace": {NewClusters, "", []string{"NAME", "demo", "second", "line 1 [31mline 2"}, "third", ""},
		"all namespaces":           {NewClusters, "-A", []string{"NAMESPACE", "other third"}, "", ""},
		"another namespace":        {NewClusters, "-n other", []string{"third"}, "demo", ""},
		"one":                      {NewClusters, "demo", []string{"demo"}, "second", ""},
		"two":                      {NewClusters, "demo second", []string{"demo", "second"}, "third", ""},
		"no wide columns":          {NewClusters, "", []string{"NAME"}, "REGION", ""},
		"wide columns":             {NewClusters, "-o wide", []string{"REGION", "Private us-east-1"}, "", ""},
		"names":                    {NewClusters, "-o name", []string{"hostedcluster.hypershift.openshift.io/demo"}, "NAME", ""},
		"none":                     {NewClusters, "-n nothing", nil, "", ""},
		"a name that is not there": {NewClusters, "missing", nil, "", "there is no HostedCluster missing in namespace clusters: `hypershift get hostedclusters -A` lists all"},
		"another format":           {NewClusters, "-o table", nil, "", "--output must be wide, yaml, json or name"},
		"a name of all namespaces": {NewClusters, "demo -A", nil, "", "a name is in one namespace: remove --all-namespaces, or pass --namespace"},
		"node pools":               {NewNodePools, "", []string{"demo-a demo 2", "second-a second 2"}, "third", ""},
		"node pools of a cluster":  {NewNodePools, "--cluster demo", []string{"demo-a demo 2"}, "second", ""},
		"their names":              {NewNodePools, "--cluster demo -o name", []string{"nodepool.hypershift.openshift.io/demo-a"}, "second", ""},
		"of a cluster without":     {NewNodePools, "--cluster missing", nil, "NAME", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := run(t, tc.command, tc.args)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Join(strings.Fields(out), " ")
			for _, want := range tc.want {
				if !strings.Contains(words, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if tc.not != "" && strings.Contains(words, tc.not) || len(tc.want) == 0 && out != "" {
				t.Errorf("%q should not be in\n%s", tc.not, out)
			}
		})
	}

	t.Run("a user without permission gets the reason", func(t *testing.T) {
		stranger := fixture.Kubeconfig(config)
		for _, user := range stranger.AuthInfos {
			user.Impersonate = "stranger"
		}
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := clientcmd.WriteToFile(stranger, path); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"", "demo", "-o yaml"} {
			_, _, err := run(t, NewClusters, args+" --kubeconfig "+path)
			if want := `User "stranger" cannot `; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("get clusters %s: %v, want %s", args, err, want)
			}
		}
	})
	t.Run("an empty list is a line for a person", func(t *testing.T) {
		_, errors, err := run(t, NewNodePools, "--cluster missing")
		if want := "HostedCluster clusters/missing has no node pools\n"; err != nil || errors != want {
			t.Errorf("%q, %v; want %q", errors, err, want)
		}
	})
	t.Run("objects can be applied again", func(t *testing.T) {
		var one hyperv1.HostedCluster
		out, _, err := run(t, NewClusters, "demo -o yaml")
		if err == nil {
			err = yaml.UnmarshalStrict([]byte(out), &one)
		}
		if err != nil || one.Kind != "HostedCluster" || one.Spec.InfraID != "demo-x" || one.ManagedFields != nil {
			t.Errorf("%v in\n%s", err, out)
		}
		var all struct {
			Kind  string
			Items []hyperv1.NodePool
		}
		out, _, err = run(t, NewNodePools, "-A -o json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &all)
		}
		if err != nil || all.Kind != "List" || len(all.Items) != 3 || all.Items[0].Kind != "NodePool" {
			t.Errorf("%v in\n%s", err, out)
		}
	})
}

func run(t *testing.T, command func(operation.Environment) *cobra.Command, args string) (out, errors string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := command(operation.Environment{Out: &stdout, Err: &stderr})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(strings.Fields(args))
	err = c.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}
