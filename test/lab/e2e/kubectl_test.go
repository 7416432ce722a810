//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// commandPatience is how long one command may wait for the expected result.
const commandPatience = time.Minute

// command is a command of a user, and the expected result.
type command struct {
	name string
	args string
	// stdin is piped into the command.
	stdin string
	// want is a regular expression that the output must match, of either stream.
	want string
	// fails: the command must fail.
	fails bool
	// again: the command is repeated until its output matches, because it depends on controllers.
	again bool
}

// everyday are the usual commands of a user. The cluster has no node; commands that need one report it.
var everyday = []command{
	{name: "client and server versions match", args: "version", want: `(?s)Client Version: v1\.37\..*Server Version: v1\.3[67]\.`},
	{name: "cluster-info", args: "cluster-info", want: `Kubernetes control plane.* is running at`},
	{name: "every readiness check passes", args: "get --raw /readyz?verbose", want: `(?s)\[\+\]etcd ok.*readyz check passed`},
	{name: "the default namespaces exist", args: "get namespaces", want: `(?s)default.*kube-node-lease.*kube-public.*kube-system`, again: true},
	{name: "the user name", args: "auth whoami", want: `system:admin`},
	{name: "API resources", args: "api-resources --api-group=apps", want: `(?s)deployments.*deploy.*statefulsets`},
	{name: "the documentation of a field", args: "explain deployment.spec.replicas", want: `(?s)FIELD: replicas <integer>`},
	{name: "create a namespace", args: "create namespace everyday", want: `namespace/everyday created`},
	{name: "create a Deployment", args: "create deployment web -n everyday --image=registry.example.test/web:1 --replicas=2", want: `deployment.apps/web created`},
	{name: "controllers create its pods", args: "get pods -n everyday -l app=web", want: `(?s)web-\S+ .*Pending.*web-\S+ .*Pending`, again: true},
	{name: "a pod without a node has no logs", args: "logs -n everyday deployment/web", want: `^Found 2 pods, using pod/web-\S+$`},
	{name: "exec needs a node", args: "exec -n everyday deployment/web -- true", want: `does not have a host assigned`, fails: true},
	{name: "scale it", args: "scale -n everyday deployment/web --replicas=3", want: `deployment.apps/web scaled`},
	{name: "set another image", args: "set image -n everyday deployment/web web=registry.example.test/web:2", want: `image updated`},
	{name: "its rollout history", args: "rollout history -n everyday deployment/web", want: `(?s)REVISION.*1.*2`, again: true},
	{name: "roll back", args: "rollout undo -n everyday deployment/web", want: `rolled back`},
	{name: "create a Service", args: "expose deployment web -n everyday --port=80", want: `service/web exposed`},
	{name: "its address is in the service network", args: "get service web -n everyday -o jsonpath={.spec.clusterIP}", want: `^\d+\.\d+\.\d+\.\d+$`},
	{name: "server-side apply", args: "apply --server-side -f -", stdin: configMap("one"), want: `configmap/settings serverside-applied`},
	{name: "the same manifest changes nothing", args: "diff --server-side -f -", stdin: configMap("one"), want: `^$`},
	{name: "a conflict with another field manager is rejected", args: "apply --server-side --field-manager=other -f -", stdin: configMap("two"), want: `(?s)conflict.*\.data\.color`, fails: true},
	{name: "--force-conflicts takes the field", args: "apply --server-side --force-conflicts --field-manager=other -f -", stdin: configMap("two"), want: `serverside-applied`},
	{name: "patch a label", args: `patch configmap settings -n everyday -p {"metadata":{"labels":{"team":"blue"}}}`, want: `patched`},
	{name: "list by label", args: "get configmap -n everyday -l team=blue -o name", want: `configmap/settings`},
	{name: "create a service account", args: "create serviceaccount reader -n everyday", want: `created`},
	{name: "it has no permissions", args: "auth can-i list pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^no`, fails: true},
	{name: "create a role", args: "create role reader -n everyday --verb=get,list --resource=pods", want: `created`},
	{name: "bind the role", args: "create rolebinding reader -n everyday --role=reader --serviceaccount=everyday:reader", want: `created`},
	{name: "it has the permission", args: "auth can-i list pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^yes`, again: true},
	{name: "it may not delete", args: "auth can-i delete pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^no`, fails: true},
	{name: "create a token", args: "create token reader -n everyday", want: `^eyJ`},
	{name: "create a CRD", args: "apply -f -", stdin: definition, want: `customresourcedefinition.apiextensions.k8s.io/crons.stable.example.test created`},
	{name: "the CRD is served", args: "wait crd/crons.stable.example.test --for=condition=Established --timeout=30s", want: `condition met`},
	{name: "create a custom resource", args: "apply -f -", stdin: "{apiVersion: stable.example.test/v1, kind: Cron, metadata: {name: mine, namespace: everyday}, spec: {every: 5}}", want: `cron.stable.example.test/mine created`, again: true},
	{name: "an invalid custom resource is rejected", args: "apply -f -", stdin: "{apiVersion: stable.example.test/v1, kind: Cron, metadata: {name: wrong, namespace: everyday}, spec: {every: often}}", want: `must be of type integer`, fails: true},
	{name: "list certificate requests", args: "get certificatesigningrequests", want: `No resources found|NAME`},
	{name: "metrics are not available", args: "top nodes", want: `Metrics API not available`, fails: true},
	{name: "the cluster has no nodes", args: "get nodes", want: `No resources found`},
	{name: "delete the objects", args: "delete namespace everyday --timeout=60s", want: `namespace "everyday" deleted`},
	{name: "delete the CRD", args: "delete crd crons.stable.example.test --timeout=60s", want: `deleted`},
}

func configMap(color string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: everyday}, data: {color: " + color + "}}"
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crons.stable.example.test
spec:
  group: stable.example.test
  names: {kind: Cron, plural: crons, singular: cron}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              every: {type: integer}
`

// runAll runs the commands in order, since later ones depend on earlier ones.
func runAll(t *testing.T, kubeconfig string, commands []command) {
	t.Helper()
	for _, c := range commands {
		if !t.Run(c.name, func(t *testing.T) { c.run(t, kubeconfig) }) {
			t.Fatalf("kubectl %s: later commands depend on it", c.args)
		}
	}
}

func (c command) run(t *testing.T, kubeconfig string) {
	wanted := regexp.MustCompile(c.want)
	deadline := time.Now().Add(commandPatience)
	for {
		out, err := on.Kubectl(t.Context(), kubeconfig, c.stdin, strings.Fields(c.args)...)
		fits := wanted.MatchString(strings.TrimSpace(out)) && (err != nil) == c.fails
		if fits {
			t.Logf("kubectl %s\n%s", c.args, out)
			return
		}
		if !c.again || time.Now().After(deadline) {
			t.Fatalf("kubectl %s\n%s\n%v; want %q, failing: %v", c.args, out, err, c.want, c.fails)
		}
		pause(t.Context(), 200*time.Millisecond)
	}
}

// pause waits for other processes, to which no fake clock applies.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
