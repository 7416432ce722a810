package target_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: server}
spec:
  template:
    spec:
      containers:
      - name: server
        image: kube-apiserver
        env:
        - {name: KEY, valueFrom: {secretKeyRef: {name: environment, key: used}}}
      volumes:
      - {name: one, secret: {secretName: one}}
      - {name: followed, secret: {secretName: followed}}
      - {name: half, secret: {secretName: half}}
      - {name: own, configMap: {name: own}}
`

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
data: {key: asset}
`

func assets(files ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fs["assets/"+files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fs
}

func server() component.Component[*target.ControlPlane] {
	return component.Component[*target.ControlPlane]{
		Name: "server", Assets: assets("deployment.yaml", deployment, "config.yaml", configMap),
		Reloads: []string{"Secret/followed", "Secret/half/tls.crt"},
	}
}

// workload renders the component and returns its Deployment.
func workload(t *testing.T, c component.Component[*target.ControlPlane], env *target.ControlPlane) *appsv1.Deployment {
	t.Helper()
	objs, err := component.Render(c, env)
	if err != nil {
		t.Fatal(err)
	}
	return objs[len(objs)-1].(*appsv1.Deployment)
}

func secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func TestOnlyMountedContentRestartsPods(t *testing.T) {
	has := func(s *corev1.Secret) func(*target.ControlPlane) {
		return func(env *target.ControlPlane) { env.Secrets[s.Name] = s }
	}
	contents := func(change func(*target.ControlPlane), c component.Component[*target.ControlPlane]) string {
		env := targettest.Env()
		for _, s := range []*corev1.Secret{secret("one", "key", "1"), secret("followed", "key", "1"), secret("half", "tls.crt", "1"), secret("environment", "used", "1")} {
			env.Secrets[s.Name] = s
		}
		if change != nil {
			change(env)
		}
		return workload(t, c, env).Spec.Template.Annotations["hypershift.openshift.io/contents"]
	}
	adapted := server()
	adapted.Adapters = []component.Adapter[*target.ControlPlane]{component.On("config.yaml", func(_ *target.ControlPlane, cm *corev1.ConfigMap) error {
		cm.Data["key"] = "adapted"
		return nil
	})}

	before := contents(nil, server())
	for name, tc := range map[string]struct {
		change func(*target.ControlPlane)
		of     component.Component[*target.ControlPlane]
		rolls  bool
	}{
		"nothing":                              {nil, server(), false},
		"a mounted Secret":                     {has(secret("one", "key", "2")), server(), true},
		"another key of a mounted Secret":      {has(secret("one", "other", "1")), server(), true},
		"a Secret that is followed":            {has(secret("followed", "key", "2")), server(), false},
		"a key that is followed":               {has(secret("half", "tls.crt", "2")), server(), false},
		"a key beside it":                      {has(secret("half", "ca.crt", "1")), server(), true},
		"a variable":                           {has(secret("environment", "used", "2")), server(), true},
		"a Secret that nobody mounts":          {has(secret("other", "key", "1")), server(), false},
		"a ConfigMap of its own":               {nil, adapted, true},
		"its own ConfigMap, as it was applied": {func(env *target.ControlPlane) { env.ConfigMaps["own"] = &corev1.ConfigMap{} }, server(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if rolls := contents(tc.change, tc.of) != before; rolls != tc.rolls {
				t.Errorf("rolls the pods: %v", rolls)
			}
		})
	}
}

func TestSettingsOfTheUserReachThePods(t *testing.T) {
	env := targettest.Env()
	env.HCP.Spec.NodeSelector = map[string]hyperv1.LabelValue{"pool": "control"}
	env.HCP.Spec.Tolerations = []corev1.Toleration{{Key: "control", Operator: corev1.TolerationOpExists}}
	env.HCP.Spec.Labels = map[string]hyperv1.LabelValue{"team": "a", "app": "mine"}
	env.HCP.Annotations[hyperv1.RestartDateAnnotation] = "today"
	env.HCP.Annotations[hyperv1.ControlPlanePriorityClassAnnotation] = "chosen"
	env.HCP.Annotations[hyperv1.APICriticalPriorityClassAnnotation] = "critical"
	template := workload(t, server(), env).Spec.Template
	if template.Spec.NodeSelector["pool"] != "control" || len(template.Spec.Tolerations) != 3 || template.Labels["team"] != "a" || template.Annotations[hyperv1.RestartDateAnnotation] != "today" {
		t.Errorf("%+v", template)
	}
	if template.Labels["app"] != "server" {
		t.Error("a label of the user's took the place of the one that Services select")
	}
	if template.Spec.PriorityClassName != "chosen" {
		t.Errorf("priority %s", template.Spec.PriorityClassName)
	}
	serving := server()
	serving.RequestServing = true
	if got := workload(t, serving, env).Spec.Template.Spec.PriorityClassName; got != "critical" {
		t.Errorf("priority %s", got)
	}
}

func TestReplicasDependOnAvailability(t *testing.T) {
	single, available := targettest.Env(), targettest.Env()
	available.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	serving, fixed := server(), server()
	serving.RequestServing = true
	fixed.Assets = assets("deployment.yaml", strings.Replace(deployment, "spec:\n", "spec:\n  replicas: 1\n", 1))
	for name, tc := range map[string]struct {
		c    component.Component[*target.ControlPlane]
		env  *target.ControlPlane
		want int32
	}{
		"one":                          {serving, single, 1},
		"of what users wait for":       {serving, available, 3},
		"of what they do not wait for": {server(), available, 2},
		"as the asset says":            {fixed, available, 1},
	} {
		d := workload(t, tc.c, tc.env)
		if *d.Spec.Replicas != tc.want {
			t.Errorf("%s: %d", name, *d.Spec.Replicas)
		}
		if spread := len(d.Spec.Template.Spec.TopologySpreadConstraints) > 0; spread != (tc.want > 1) {
			t.Errorf("%s: kept apart %v", name, spread)
		}
	}
}

// Nodes have zones in a cloud, and hardly anywhere else.
func TestPodsRunOnNodesWithoutZones(t *testing.T) {
	available := targettest.Env()
	available.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	must := map[string]bool{}
	for _, c := range workload(t, server(), available).Spec.Template.Spec.TopologySpreadConstraints {
		must[c.TopologyKey] = c.WhenUnsatisfiable == corev1.DoNotSchedule
	}
	if want := map[string]bool{corev1.LabelTopologyZone: false, corev1.LabelHostname: true}; !maps.Equal(must, want) {
		t.Errorf("pods are not scheduled unless spread over %v, want %v", must, want)
	}
}

// Only a component that requests it may connect to the management cluster.
func TestPodsCannotReachTheManagementAPIServer(t *testing.T) {
	template := workload(t, server(), targettest.Env()).Spec.Template
	if ptr.Deref(template.Spec.AutomountServiceAccountToken, true) || template.Labels[names.ManagementAccessLabel] != "" {
		t.Errorf("%+v", template)
	}
	talks := server()
	talks.Assets = assets("deployment.yaml", strings.Replace(deployment, "      containers:", "      automountServiceAccountToken: true\n      containers:", 1))
	if got := workload(t, talks, targettest.Env()).Spec.Template.Labels[names.ManagementAccessLabel]; got != "true" {
		t.Errorf("label %q", got)
	}
}

// NetworkPolicies let a pod with the label reach the management API server.
func TestALabelOfTheUserDoesNotOpenTheManagementCluster(t *testing.T) {
	withToken := server()
	withToken.Assets = assets("deployment.yaml", strings.Replace(deployment, "      containers:", "      automountServiceAccountToken: true\n      containers:", 1))
	for _, value := range []hyperv1.LabelValue{"true", "false", ""} {
		env := targettest.Env()
		env.HCP.Spec.Labels = map[string]hyperv1.LabelValue{names.ManagementAccessLabel: value}
		if got, ok := workload(t, server(), env).Spec.Template.Labels[names.ManagementAccessLabel]; ok {
			t.Errorf("spec.labels has %q: a pod without a token is labelled %q", value, got)
		}
		if got := workload(t, withToken, env).Spec.Template.Labels[names.ManagementAccessLabel]; got != "true" {
			t.Errorf("spec.labels has %q: a pod with a token is labelled %q", value, got)
		}
	}
}

func TestAdaptersLeaveFilesOut(t *testing.T) {
	c := server()
	c.Adapters = []component.Adapter[*target.ControlPlane]{component.Only("config.yaml", (*target.ControlPlane).HighlyAvailable)}
	for policy, want := range map[hyperv1.AvailabilityPolicy]int{hyperv1.SingleReplica: 1, hyperv1.HighlyAvailable: 2} {
		env := targettest.Env()
		env.HCP.Spec.ControllerAvailabilityPolicy = policy
		if objs, err := component.Render(c, env); err != nil || len(objs) != want {
			t.Errorf("%s: %d objects, %v", policy, len(objs), err)
		}
	}
}

func TestInvalidAssetsAreRefused(t *testing.T) {
	with := func(change func(*component.Component[*target.ControlPlane])) component.Component[*target.ControlPlane] {
		c := server()
		change(&c)
		return c
	}
	for says, c := range map[string]component.Component[*target.ControlPlane]{
		"it has none of deployment.yaml, statefulset.yaml, daemonset.yaml": with(func(c *component.Component[*target.ControlPlane]) { c.Assets = assets("config.yaml", configMap) }),
		`unknown field "speck"`: with(func(c *component.Component[*target.ControlPlane]) {
			c.Assets = assets("deployment.yaml", strings.Replace(deployment, "spec:", "speck:", 1))
		}),
		"would not be removed again": with(func(c *component.Component[*target.ControlPlane]) {
			c.Assets = assets("deployment.yaml", deployment, "x.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: x}\n")
		}),
		"its adapter takes a *v1.Secret": with(func(c *component.Component[*target.ControlPlane]) {
			c.Adapters = []component.Adapter[*target.ControlPlane]{component.On("config.yaml", func(*target.ControlPlane, *corev1.Secret) error { return nil })}
		}),
		"config.yaml: no": with(func(c *component.Component[*target.ControlPlane]) {
			c.Adapters = []component.Adapter[*target.ControlPlane]{component.On("config.yaml", func(*target.ControlPlane, *corev1.ConfigMap) error { return errors.New("no") })}
		}),
		"say so in Wanted": with(func(c *component.Component[*target.ControlPlane]) {
			c.Adapters = []component.Adapter[*target.ControlPlane]{component.Only("deployment.yaml", func(*target.ControlPlane) bool { return false })}
		}),
	} {
		if _, err := component.Render(c, targettest.Env()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}

func TestMissingImagesAreNamed(t *testing.T) {
	env := targettest.Env()
	delete(env.Release.Components, names.KubeAPIServer)
	_, err := component.Render(server(), env)
	var missing *component.MissingImagesError
	if !errors.As(err, &missing) || missing.Images[0] != names.KubeAPIServer {
		t.Errorf("got %v", err)
	}
}

func TestMountedObjectsAreAppliedBeforeTheWorkload(t *testing.T) {
	objs, err := component.Render(server(), targettest.Env())
	if err != nil {
		t.Fatal(err)
	}
	var order []client.Object
	for _, obj := range objs {
		if obj.GetNamespace() != "clusters-demo" || obj.GetLabels()["app"] != "server" {
			t.Errorf("%T: %s, %v", obj, obj.GetNamespace(), obj.GetLabels())
		}
		order = append(order, obj)
	}
	if _, last := order[len(order)-1].(*appsv1.Deployment); !last {
		t.Errorf("the last is %T", order[len(order)-1])
	}
}
