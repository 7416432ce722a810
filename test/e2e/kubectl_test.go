//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// patience is how long one command may wait for the expected result.
const patience = time.Minute

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
	{name: "the versions fit", args: "version", want: `(?s)Client Version: v1\.36\..*Server Version: v1\.3[56]\.`},
	{name: "the cluster tells where it is", args: "cluster-info", want: `Kubernetes control plane.* is running at`},
	{name: "it is well, check by check", args: "get --raw /readyz?verbose", want: `(?s)\[\+\]etcd ok.*readyz check passed`},
	{name: "its namespaces are there", args: "get namespaces", want: `(?s)default.*kube-node-lease.*kube-public.*kube-system`, again: true},
	{name: "who am I", args: "auth whoami", want: `system:admin`},
	{name: "what is there to be had", args: "api-resources --api-group=apps", want: `(?s)deployments.*deploy.*statefulsets`},
	{name: "what does a field mean", args: "explain deployment.spec.replicas", want: `(?s)FIELD: replicas <integer>`},
	{name: "a namespace", args: "create namespace everyday", want: `namespace/everyday created`},
	{name: "a deployment", args: "create deployment web -n everyday --image=registry.example.test/web:1 --replicas=2", want: `deployment.apps/web created`},
	{name: "the controllers make its pods", args: "get pods -n everyday -l app=web", want: `(?s)web-\S+ .*Pending.*web-\S+ .*Pending`, again: true},
	{name: "a pod says why it does not run", args: "events -n everyday --types=Warning", want: `FailedScheduling +Pod/web-\S+ +no nodes available to schedule pods`, again: true},
	{name: "a pod without a node has no logs", args: "logs -n everyday deployment/web", want: `^Found 2 pods, using pod/web-\S+$`},
	{name: "exec needs a node", args: "exec -n everyday deployment/web -- true", want: `does not have a host assigned`, fails: true},
	{name: "scale it", args: "scale -n everyday deployment/web --replicas=3", want: `deployment.apps/web scaled`},
	{name: "another image", args: "set image -n everyday deployment/web web=registry.example.test/web:2", want: `image updated`},
	{name: "its history", args: "rollout history -n everyday deployment/web", want: `(?s)REVISION.*1.*2`, again: true},
	{name: "and back", args: "rollout undo -n everyday deployment/web", want: `rolled back`},
	{name: "a service with an address", args: "expose deployment web -n everyday --port=80", want: `service/web exposed`},
	{name: "of the service network", args: "get service web -n everyday -o jsonpath={.spec.clusterIP}", want: `^\d+\.\d+\.\d+\.\d+$`},
	{name: "a manifest, server-side", args: "apply --server-side -f -", stdin: configMap("one"), want: `configmap/settings serverside-applied`},
	{name: "the same again changes nothing", args: "diff --server-side -f -", stdin: configMap("one"), want: `^$`},
	{name: "another one's field is not taken", args: "apply --server-side --field-manager=other -f -", stdin: configMap("two"), want: `(?s)conflict.*\.data\.color`, fails: true},
	{name: "unless it is meant", args: "apply --server-side --force-conflicts --field-manager=other -f -", stdin: configMap("two"), want: `serverside-applied`},
	{name: "a label and a patch", args: `patch configmap settings -n everyday -p {"metadata":{"labels":{"team":"blue"}}}`, want: `patched`},
	{name: "found by the label", args: "get configmap -n everyday -l team=blue -o name", want: `configmap/settings`},
	{name: "a service account", args: "create serviceaccount reader -n everyday", want: `created`},
	{name: "may nothing", args: "auth can-i list pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^no`, fails: true},
	{name: "a role", args: "create role reader -n everyday --verb=get,list --resource=pods", want: `created`},
	{name: "and its binding", args: "create rolebinding reader -n everyday --role=reader --serviceaccount=everyday:reader", want: `created`},
	{name: "now it may", args: "auth can-i list pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^yes`, again: true},
	{name: "but not delete", args: "auth can-i delete pods -n everyday --as=system:serviceaccount:everyday:reader", want: `^no`, fails: true},
	{name: "a token of its own", args: "create token reader -n everyday", want: `^eyJ`},
	{name: "a kind of one's own", args: "apply -f -", stdin: definition, want: `customresourcedefinition.apiextensions.k8s.io/crons.stable.example.test created`},
	{name: "is served", args: "wait crd/crons.stable.example.test --for=condition=Established --timeout=30s", want: `condition met`},
	{name: "and used", args: "apply -f -", stdin: "{apiVersion: stable.example.test/v1, kind: Cron, metadata: {name: mine, namespace: everyday}, spec: {every: 5}}", want: `cron.stable.example.test/mine created`, again: true},
	{name: "and judged", args: "apply -f -", stdin: "{apiVersion: stable.example.test/v1, kind: Cron, metadata: {name: wrong, namespace: everyday}, spec: {every: often}}", want: `must be of type integer`, fails: true},
	{name: "a request for a certificate", args: "get certificatesigningrequests", want: `No resources found|NAME`},
	{name: "usage is not measured here", args: "top nodes", want: `Metrics API not available`, fails: true},
	{name: "there is no node", args: "get nodes", want: `No resources found`},
	{name: "all is put away", args: "delete namespace everyday --timeout=60s", want: `namespace "everyday" deleted`},
	{name: "the kind too", args: "delete crd crons.stable.example.test --timeout=60s", want: `deleted`},
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
	deadline := time.Now().Add(patience)
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
