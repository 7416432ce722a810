package chart_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
	"github.com/hosted-control-planes/hypershift/test/fixture"
	"github.com/hosted-control-planes/hypershift/test/imagecheck"
)

// installations are typical values of users.
var installations = map[string]string{
	"no values": ``,
	"a role for private clusters": `
aws: {region: eu-central-1, privateLink: true, roleARN: "arn:aws:iam::111111111111:role/hypershift-operator"}
oidc: {bucket: documents, region: eu-central-1}
monitoring: {labels: {release: prometheus}, metricsSet: Hypershift}
dashboards: {enabled: true}
`,
	"a lab": `
image: {repository: 10.55.0.1:5000/hypershift, digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", pullSecrets: [{name: registry}]}
replicas: 1
log: {level: debug, format: text}
periods: {resync: 1m, awsPermissionsCheck: 10m}
aws: {region: us-east-1, privateLink: true, credentialsSecret: {name: aws}}
oidc: {bucket: documents, region: us-east-1, credentialsSecret: {name: oidc, key: other}}
controlPlaneOperator: {image: "10.55.0.1:5000/other:1", allowImageOverride: true}
clusterAPI: {image: "10.55.0.1:5000/cluster-api:1"}
clusterAPIProviderAWS: {image: "10.55.0.1:5000/capa:1"}
registryOverrides: {registry.k8s.io: 10.55.0.1:5000, quay.io/a: 10.55.0.1:5000/b}
releases: {allowedRepositories: ["10.55.0.1:5000/kubernetes-release", quay.io/a], signatureKeys: ["-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETf0tiJEKTlsgyHPKn9+YvR3U135L\nQcdpqSpozl0R5Ixgqm8lnX2nFP0vbF/EQr93gfXE9SWFeIO4SwGeKd19MA==\n-----END PUBLIC KEY-----\n"]}
controlPlaneEgress: {managementAPIEndpoints: [203.0.113.7, "203.0.113.8:6443", "[2001:db8::7]:6443"], blockedCIDRs: [10.0.0.0/8, "fd00::/8"]}
extraEnv: [{name: AWS_ENDPOINT_URL, value: "http://10.55.0.1:5001"}]
controlPlaneSizes: [{nodes: 50, requests: {kube-apiserver.kube-apiserver: "cpu=1,memory=4Gi"}}]
controlPlaneLimits: {quota: {pods: null, "requests.storage": 1Ti}, containerMemory: null, memoryFactor: 0, priorityClasses: [one, two]}
checkLoadBalancers: false
access: {enabled: true}
loadBalancers:
  class: eks.amazonaws.com/nlb
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-subnets: subnet-1,subnet-2
    service.beta.kubernetes.io/aws-load-balancer-attributes: deletion_protection.enabled=true
extraArgs: [--allow-control-plane-operator-image-override]
podLabels: {team: a}
podAnnotations: {example.com/c: d}
nodeSelector: {example.com/size: large}
tolerations: [{operator: Exists}]
serviceAccount: {create: false, name: mine}
nameOverride: operator
commonLabels: {cost-center: "42"}
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname}}]}}
topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]
priorityClassName: system-cluster-critical
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
revisionHistoryLimit: 3
dnsPolicy: None
dnsConfig: {nameservers: [10.0.0.2]}
extraVolumes: [{name: authorities, configMap: {name: authorities}}]
extraVolumeMounts: [{name: authorities, mountPath: /etc/ssl/certs, readOnly: true}]
userRoles: {aggregate: false}
`,
	"public names": `
extraEnv: [{name: AWS_ENDPOINT_URL, value: "http://10.55.0.1:5001"}]
externalDNS:
  enabled: true
  domainFilters: [example.com, example.org]
  txtOwnerID: one
  aws: {roleARN: "arn:aws:iam::111111111111:role/external-dns"}
  extraArgs: [--log-level=debug]
`,
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}

// typed decodes an object strictly, like an API server with strict field validation.
func typed(t *testing.T, obj *unstructured.Unstructured) runtime.Object {
	t.Helper()
	if obj.GetKind() == "APIService" {
		return obj // its Go type would link the aggregator; the scenario with a tenant installs it
	}
	text, err := obj.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := serializer.NewCodecFactory(scheme(), serializer.EnableStrict).UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return out
}

// elsewhere are the objects in other namespaces: objects that all users read, and the permission to read the identity of the API server.
var elsewhere = []string{
	"kube-public ConfigMap oidc-storage-provider-s3-config", "kube-public ConfigMap hypershift-availability-zones",
	"kube-public Role hypershift-public", "kube-public RoleBinding hypershift-public", "kube-system RoleBinding hypershift-access",
}

func TestRenderedObjectsAreValid(t *testing.T) {
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range installations {
		t.Run(name, func(t *testing.T) {
			for _, obj := range render(t, values, monitored...) {
				if obj.GroupVersionKind().Group == "monitoring.coreos.com" {
					continue // tested separately
				}
				if obj.GetNamespace() != "" && obj.GetNamespace() != namespace && !slices.Contains(elsewhere, obj.GetNamespace()+" "+obj.GetKind()+" "+obj.GetName()) {
					t.Errorf("%s %s is in namespace %s", obj.GetKind(), obj.GetName(), obj.GetNamespace())
				}
				switch obj := typed(t, obj).(type) {
				case *appsv1.Deployment:
					checkPod(t, restricted, obj.Name, &obj.Spec.Template)
					for _, c := range obj.Spec.Template.Spec.Containers {
						if c.ReadinessProbe == nil || c.LivenessProbe == nil {
							t.Errorf("container %s has no probe", c.Name)
						}
					}
				case *batchv1.Job:
					checkPod(t, restricted, obj.Name, &obj.Spec.Template)
				case *rbacv1.ClusterRole:
					checkRules(t, obj)
				}
			}
		})
	}
}

func TestExternalDNSUsesTheEndpointsOfAWS(t *testing.T) {
	for _, obj := range render(t, installations["public names"]) {
		if d, ok := typed(t, obj).(*appsv1.Deployment); ok && d.Name == "external-dns" {
			env := d.Spec.Template.Spec.Containers[0].Env
			for _, want := range []string{"AWS_REGION", "AWS_ROLE_ARN", "AWS_ENDPOINT_URL"} {
				if !slices.ContainsFunc(env, func(v corev1.EnvVar) bool { return v.Name == want && v.Value != "" }) {
					t.Errorf("external-dns has no %s: %v", want, env)
				}
			}
			return
		}
	}
	t.Error("there is no external-dns")
}

// deployed returns the Deployment of the operator.
func deployed(t *testing.T, values string) *appsv1.Deployment {
	t.Helper()
	for _, obj := range render(t, values) {
		if obj.GetKind() == "Deployment" && obj.GetName() == "hypershift-operator" {
			return typed(t, obj).(*appsv1.Deployment)
		}
	}
	t.Fatal("no Deployment hypershift-operator is rendered")
	return nil
}

func TestPlacementOfTheOperator(t *testing.T) {
	d := deployed(t, "")
	pod := d.Spec.Template.Spec
	if pod.NodeSelector[corev1.LabelOSStable] != "linux" || pod.PriorityClassName != "hypershift-operator" || pod.ServiceAccountName != "hypershift-operator" || *d.Spec.RevisionHistoryLimit != 10 {
		t.Errorf("by default the pod has node selector %v, priority class %s, service account %s", pod.NodeSelector, pod.PriorityClassName, pod.ServiceAccountName)
	}
	if len(pod.TopologySpreadConstraints) != 2 {
		t.Fatalf("by default the pod has %d spread constraints", len(pod.TopologySpreadConstraints))
	}
	for _, c := range pod.TopologySpreadConstraints {
		if c.LabelSelector.MatchLabels["app"] != "hypershift-operator" || !slices.Equal(c.MatchLabelKeys, []string{"pod-template-hash"}) || c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			t.Errorf("spread constraint %+v", c)
		}
	}

	d = deployed(t, installations["a lab"])
	pod = d.Spec.Template.Spec
	for what, ok := range map[string]bool{
		"node selector":      pod.NodeSelector["example.com/size"] == "large" && pod.NodeSelector[corev1.LabelOSStable] == "linux",
		"service account":    pod.ServiceAccountName == "mine",
		"priority class":     pod.PriorityClassName == "system-cluster-critical",
		"affinity":           pod.Affinity != nil && pod.Affinity.PodAntiAffinity != nil,
		"spread constraints": len(pod.TopologySpreadConstraints) == 1 && pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels["a"] == "b" && len(pod.TopologySpreadConstraints[0].MatchLabelKeys) == 0,
		"strategy":           d.Spec.Strategy.RollingUpdate != nil && d.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() == 0,
		"history":            *d.Spec.RevisionHistoryLimit == 3,
		"DNS":                pod.DNSPolicy == corev1.DNSNone && slices.Equal(pod.DNSConfig.Nameservers, []string{"10.0.0.2"}),
		"volume":             slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "authorities" }),
		"labels":             d.Spec.Template.Labels["cost-center"] == "42" && d.Spec.Template.Labels["team"] == "a" && d.Labels["cost-center"] == "42" && d.Labels["app.kubernetes.io/name"] == "operator",
		"selector":           len(d.Spec.Selector.MatchLabels) == 1, // it is immutable
	} {
		if !ok {
			t.Errorf("the values do not set: %s", what)
		}
	}

	pod = deployed(t, "hostNetwork: true").Spec.Template.Spec
	if !pod.HostNetwork || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("with hostNetwork the pod has host network %v, DNS policy %s", pod.HostNetwork, pod.DNSPolicy)
	}
	if pod = deployed(t, "extraVolumes: [{name: a, emptyDir: {}}]\nextraVolumeMounts: [{name: a, mountPath: /a}]").Spec.Template.Spec; len(pod.Volumes) != 1 || len(pod.Containers[0].VolumeMounts) != 1 {
		t.Errorf("volumes %v, mounts %v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
}

func TestCommonLabelsAreOnEveryObject(t *testing.T) {
	values := installations["public names"] + "commonLabels: {cost-center: \"42\", app.kubernetes.io/part-of: mine}\ndashboards: {enabled: true}\n"
	for _, obj := range render(t, values, monitored...) {
		switch obj.GetKind() {
		case "CustomResourceDefinition", "PriorityClass":
			continue
		}
		if labels := obj.GetLabels(); labels["cost-center"] != "42" || labels["app.kubernetes.io/part-of"] != "hypershift" {
			t.Errorf("%s %s has the labels %v", obj.GetKind(), obj.GetName(), labels)
		}
		if pod, _, _ := unstructured.NestedString(obj.Object, "spec", "template", "metadata", "labels", "cost-center"); pod != "42" && obj.Object["spec"] != nil && slices.Contains([]string{"Deployment", "Job"}, obj.GetKind()) {
			t.Errorf("the pods of %s %s do not have the label", obj.GetKind(), obj.GetName())
		}
	}
}

func TestServiceAccountOfTheUserGetsThePermissions(t *testing.T) {
	for _, obj := range render(t, installations["a lab"]) {
		switch obj := typed(t, obj).(type) {
		case *corev1.ServiceAccount:
			t.Errorf("ServiceAccount %s is created", obj.Name)
		case *rbacv1.ClusterRoleBinding:
			if obj.Subjects[0].Name != "mine" || obj.Subjects[0].Namespace != namespace {
				t.Errorf("%s is bound to %v", obj.Name, obj.Subjects)
			}
		case *batchv1.Job:
			if obj.Spec.Template.Spec.ServiceAccountName != "mine" {
				t.Errorf("Job %s runs as %s", obj.Name, obj.Spec.Template.Spec.ServiceAccountName)
			}
		}
	}
}

// Users get permissions for the two objects that they write, and for no others: neither for Secrets nor for the objects in
// the namespaces of control planes. The operators trust the fields of these objects.
func TestRolesOfUsers(t *testing.T) {
	roles := func(values string) map[string]*rbacv1.ClusterRole {
		found := map[string]*rbacv1.ClusterRole{}
		for _, obj := range render(t, values) {
			if role, ok := typed(t, obj).(*rbacv1.ClusterRole); ok && slices.Contains([]string{"hypershift-view", "hypershift-edit"}, role.Name) {
				found[role.Name] = role
			}
		}
		return found
	}
	all := roles("")
	if len(all) != 2 {
		t.Fatalf("the roles are %v", all)
	}
	may := func(role *rbacv1.ClusterRole, verb, resource string) bool {
		return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Verbs, verb) && slices.Contains(r.Resources, resource)
		})
	}
	for name, role := range all {
		for _, rule := range role.Rules {
			if slices.Equal(rule.APIGroups, []string{accessv1alpha1.GroupVersion.Group}) {
				continue // tested below
			}
			if !slices.Equal(rule.APIGroups, []string{hyperv1.GroupVersion.Group}) {
				t.Errorf("%s has permissions for %v", name, rule.APIGroups)
			}
			for _, resource := range rule.Resources {
				if main, _, _ := strings.Cut(resource, "/"); main != "hostedclusters" && main != "nodepools" {
					t.Errorf("%s has permissions for %s", name, resource)
				}
			}
		}
		for subresource, want := range map[accessv1alpha1.Subresource]bool{
			accessv1alpha1.AdminKubeconfig: name == "hypershift-edit", accessv1alpha1.ViewerKubeconfig: true, accessv1alpha1.Tunnel: true,
		} {
			if got := may(role, "create", accessv1alpha1.Resource+"/"+string(subresource)); got != want {
				t.Errorf("%s may create %s: %v, want %v", name, subresource, got, want)
			}
		}
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			for _, resource := range []string{"hostedclusters", "nodepools"} {
				if got, want := may(role, verb, resource), name == "hypershift-edit"; got != want {
					t.Errorf("%s may %s %s: %v, want %v", name, verb, resource, got, want)
				}
				for _, part := range []string{"/status", "/finalizers"} {
					if may(role, verb, resource+part) {
						t.Errorf("%s may %s %s", name, verb, resource+part)
					}
				}
			}
		}
	}
	for name, to := range map[string][]string{"hypershift-view": {"view", "edit", "admin"}, "hypershift-edit": {"edit", "admin"}} {
		for _, into := range []string{"view", "edit", "admin"} {
			if got, want := all[name].Labels["rbac.authorization.k8s.io/aggregate-to-"+into] == "true", slices.Contains(to, into); got != want {
				t.Errorf("%s is part of %s: %v, want %v", name, into, got, want)
			}
		}
	}
	for name, role := range roles("userRoles: {aggregate: false}") {
		for label := range role.Labels {
			if strings.Contains(label, "aggregate") {
				t.Errorf("%s is aggregated: %s", name, label)
			}
		}
	}
}

// checkPod evaluates the restricted Pod Security Standard, and checks required fields.
func checkPod(t *testing.T, restricted policy.Evaluator, name string, pod *corev1.PodTemplateSpec) {
	t.Helper()
	for _, result := range restricted.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	for _, problem := range imagecheck.Pod(&pod.Spec, publishedImage) {
		t.Errorf("%s: %s", name, problem)
	}
	for _, c := range pod.Spec.Containers {
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
			t.Errorf("container %s requests nothing", c.Name)
		}
		if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("container %s can write to its image", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("container %s mounts %s, which the pod does not have", c.Name, m.Name)
			}
		}
	}
}

// publishedImage returns the facts of an image of the chart. Users may give other names to the image of the operators.
func publishedImage(reference string) (publishedimages.Image, bool) {
	name := publishedimages.OperatorImage
	if strings.Contains(reference, "/"+publishedimages.ExternalDNS+":") {
		name = publishedimages.ExternalDNS
	}
	return publishedimages.Of(name, "")
}

func checkRules(t *testing.T, role *rbacv1.ClusterRole) {
	t.Helper()
	if len(role.Rules) == 0 {
		t.Errorf("ClusterRole %s allows nothing", role.Name)
	}
	for _, r := range role.Rules {
		if slices.ContainsFunc(slices.Concat(r.APIGroups, r.Resources, r.Verbs), func(s string) bool { return strings.Contains(s, "*") }) {
			t.Errorf("a wildcard in %+v of %s", r, role.Name)
		}
	}
}

// An installation without Helm gets the same permissions.
func TestPermissionsAreThoseOfConfig(t *testing.T) {
	rendered := map[string]*unstructured.Unstructured{}
	for _, obj := range render(t, "") {
		rendered[obj.GetKind()+" "+obj.GetName()] = obj
	}
	for _, file := range glob(t, "config", "rbac", "*", "*.yaml") {
		want := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(read(t, file), &want.Object); err != nil {
			t.Fatal(err)
		}
		got := rendered[want.GetKind()+" "+want.GetName()]
		if got == nil {
			t.Errorf("no %s %s", want.GetKind(), want.GetName())
			continue
		}
		for _, field := range []string{"rules", "roleRef"} {
			if !equality.Semantic.DeepEqual(got.Object[field], want.Object[field]) {
				t.Errorf("%s of %s %s are not those of %s", field, got.GetKind(), got.GetName(), file)
			}
		}
	}
	binding := typed(t, rendered["ClusterRoleBinding hypershift-operator"]).(*rbacv1.ClusterRoleBinding)
	if want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "hypershift-operator", Namespace: namespace}}; !slices.Equal(binding.Subjects, want) {
		t.Errorf("the role is bound to %v", binding.Subjects)
	}
}

func TestCRDsAreThoseOfConfigAndAreKept(t *testing.T) {
	rendered := map[string]*apiextensionsv1.CustomResourceDefinition{}
	crds, err := helm(t, "template", release, crdsChart(t))
	if err != nil {
		t.Fatal(err)
	}
	objs, err := fixture.Decode(crds)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range append(render(t, ""), objs...) {
		if crd, ok := typed(t, obj).(*apiextensionsv1.CustomResourceDefinition); ok {
			rendered[crd.Name] = crd
		}
	}
	files := append(glob(t, "config", "crd", "*.yaml"), glob(t, "config", "crd", "external", "*.yaml")...)
	if len(rendered) != len(files) {
		t.Errorf("%d of %d CRDs are rendered", len(rendered), len(files))
	}
	for _, file := range files {
		objs, err := fixture.Decode(string(read(t, file)))
		if err != nil || len(objs) != 1 {
			t.Fatalf("%s has %d objects: %v", file, len(objs), err)
		}
		got := rendered[objs[0].GetName()]
		if got == nil {
			t.Errorf("no %s", objs[0].GetName())
			continue
		}
		if a := got.Annotations; a["helm.sh/resource-policy"] != "keep" || !strings.Contains(a["argocd.argoproj.io/sync-options"], "Prune=false,Delete=false") || a["kustomize.toolkit.fluxcd.io/prune"] != "disabled" {
			t.Errorf("uninstalling the chart would delete %s and all its objects: %v", got.Name, a)
		}
		want := typed(t, objs[0]).(*apiextensionsv1.CustomResourceDefinition)
		if !equality.Semantic.DeepEqual(got.Spec, want.Spec) {
			t.Errorf("%s differs from that of %s", got.Name, file)
		}
	}
}

func TestExistingForeignCRDsAreNotInstalled(t *testing.T) {
	count := func(values string, args ...string) (clusterAPI, routes int) {
		for _, obj := range render(t, values, args...) {
			switch {
			case obj.GetKind() != "CustomResourceDefinition":
			case obj.GetName() == "routes.route.openshift.io":
				routes++
			case strings.HasSuffix(obj.GetName(), "cluster.x-k8s.io"):
				clusterAPI++
			}
		}
		return clusterAPI, routes
	}
	openshift := "--api-versions=route.openshift.io/v1/Route"
	for name, tc := range map[string]struct {
		values             string
		args               []string
		clusterAPI, routes int
	}{
		"a cluster without CRDs":                {clusterAPI: 11, routes: 1},
		"OpenShift has Routes":                  {args: []string{openshift}, clusterAPI: 11},
		"Cluster API of another party":          {args: []string{"--api-versions=cluster.x-k8s.io/v1beta2/Machine", "--api-versions=cluster.x-k8s.io/v1beta2/MachineSet"}, clusterAPI: 9, routes: 1},
		"CRDs that the user forces":             {values: "crds: {route: Always}", args: []string{openshift}, clusterAPI: 11, routes: 1},
		"CRDs that the user installs otherwise": {values: "crds: {route: Never, clusterAPI: Never}"},
	} {
		t.Run(name, func(t *testing.T) {
			if clusterAPI, routes := count(tc.values, tc.args...); clusterAPI != tc.clusterAPI || routes != tc.routes {
				t.Errorf("%d kinds of Cluster API and %d of OpenShift, want %d and %d", clusterAPI, routes, tc.clusterAPI, tc.routes)
			}
		})
	}
}

func glob(t *testing.T, elem ...string) []string {
	t.Helper()
	files, err := filepath.Glob(path(t, elem...))
	if err != nil || len(files) == 0 {
		t.Fatalf("looking for %s: %v, %v", filepath.Join(elem...), files, err)
	}
	return files
}
