package privilege

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

const root = "../.."

// program is a holder for tests, as service account and as role.
var program = Holder{Name: hypershiftOperator, Grants: []Grant{{Rights: []Right{
	{"secrets", "get"}, {"secrets", "watch"}, {"services", "patch"}, {"services", "create"}, {"s3", "PutObject"}, {"ec2", "CreateTags"},
}}}}

func TestTheAuditLog(t *testing.T) {
	for name, c := range map[string]struct {
		log     []string
		counts  map[Right]int
		refused []Refusal
	}{
		"what was asked is counted, also if there was nothing": {
			log: []string{
				auditEvent("hypershift", "get", `"resource":"secrets"`, `"code":200`),
				auditEvent("hypershift", "get", `"resource":"secrets"`, `"code":404`),
				auditEvent("hypershift", "patch", `"resource":"routes","apiGroup":"route.openshift.io","subresource":"status"`, `"code":200`),
			},
			counts: map[Right]int{{"secrets", "get"}: 2, {"routes.route.openshift.io/status", "patch"}: 1},
		},
		"a request of a user that impersonates the service account is one of the service account": {
			log: []string{strings.NewReplacer(
				`"user"`, `"impersonatedUser"`, `"objectRef"`, `"user":{"username":"impersonator"},"objectRef"`,
			).Replace(auditEvent("hypershift", "get", `"resource":"secrets"`, `"code":200`))},
			counts: map[Right]int{{"secrets", "get"}: 1},
		},
		"an apply that made its object has created it": {
			log:    []string{auditEvent("hypershift", "patch", `"resource":"services"`, `"code":201`)},
			counts: map[Right]int{{"services", "patch"}: 1, {"services", "create"}: 1},
		},
		"others are not looked at, nor what is no resource": {
			log: []string{
				strings.ReplaceAll(auditEvent("kube-system", "get", `"resource":"secrets"`, `"code":403`), hypershiftOperator, "job-controller"),
				auditEvent("hypershift", "get", ``, `"code":403`),
			},
		},
		"a refusal is told once": {
			log: []string{
				auditEvent("hypershift", "list", `"resource":"pods"`, `"code":403,"message":"no"`),
				auditEvent("hypershift", "list", `"resource":"pods"`, `"code":403,"message":"no"`),
			},
			refused: []Refusal{{hypershiftOperator, Right{"pods", "list"}, "no"}},
		},
		"a namespace that goes takes nothing new, and its permissions go too": {
			log: []string{
				auditEvent("hypershift", "create", `"resource":"secrets"`, `"code":403,"details":{"causes":[{"reason":"NamespaceTerminating"}]}`),
				at("03", auditEvent("plane", "get", `"resource":"secrets"`, `"code":403`)),
				at("02", auditEvent("hypershift", "delete", `"resource":"namespaces","name":"plane"`, `"code":200`)),
			},
			counts: map[Right]int{{"namespaces", "delete"}: 1},
		},
		"a refusal before its namespace goes is one": {
			log: []string{
				at("01", auditEvent("plane", "get", `"resource":"pods"`, `"code":403,"message":"no"`)),
				at("02", auditEvent("hypershift", "delete", `"resource":"namespaces","name":"plane"`, `"code":200`)),
			},
			counts:  map[Right]int{{"namespaces", "delete"}: 1},
			refused: []Refusal{{hypershiftOperator, Right{"pods", "get"}, "no"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			use, err := audit(strings.NewReader(strings.Join(c.log, "\n")), []Holder{program})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.counts, use.Counts[hypershiftOperator]); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.refused, use.Refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// auditEvent is an event of the audit log, in second 1.
func auditEvent(namespace, verb, ref, status string) string {
	return `{"verb":"` + verb + `","user":{"username":"system:serviceaccount:` + namespace + ":" + hypershiftOperator + `"},"objectRef":{` + ref + `},` +
		`"responseStatus":{"metadata":{},` + status + `},"requestReceivedTimestamp":"2030-01-01T00:00:01Z","stageTimestamp":"2030-01-01T00:00:01.5Z"}`
}

// at is the event in another second.
func at(second, event string) string {
	return strings.NewReplacer("00:00:01Z", "00:00:"+second+"Z", "00:00:01.5Z", "00:00:"+second+".5Z").Replace(event)
}

func TestTheCallsOfARole(t *testing.T) {
	role := "arn:aws:iam::1:role/hypershift-operator"
	use := Calls([]awsemulator.Call{
		{Role: role, Permissions: []string{"s3:PutObject"}},
		{Role: role, Permissions: []string{"ec2:CreateVpc", "ec2:CreateTags"}, Outcome: "UnauthorizedOperation", Caller: "me"},
		{Role: "arn:aws:iam::2:role/example-control-plane-operator", Permissions: []string{"ec2:RunInstances"}},
		{Permissions: []string{"iam:CreateRole"}}, // a root
	}, []Holder{program})
	want := &Use{
		Counts:  map[string]map[Right]int{hypershiftOperator: {{"s3", "PutObject"}: 1, {"ec2", "CreateTags"}: 1}},
		Refused: []Refusal{{hypershiftOperator, Right{"ec2", "CreateVpc"}, "UnauthorizedOperation for me"}},
	}
	if diff := cmp.Diff(want, use); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAReport(t *testing.T) {
	other := Holder{Name: "other", Grants: []Grant{{Rights: []Right{{"services", "patch"}, {"services", "create"}}}}}
	use := &Use{}
	use.count(hypershiftOperator, Right{"secrets", "get"})
	use.count(other.Name, Right{"services", "create"})
	use.count(other.Name, Right{"services", "patch"})
	use.refuse(Refusal{"other", Right{"pods", "get"}, "no"})
	use.refuse(Refusal{OnPurpose[0].Holder, Right{OnPurpose[0].Thing, OnPurpose[0].Verbs[0]}, "no"})
	report := Report{Title: "Here", Holders: []Holder{program, other}, Use: use,
		Reasons: []Reason{{hypershiftOperator, "s3", []string{"PutObject"}, "once a year"}}}

	var text strings.Builder
	report.Write(&text)
	if diff := cmp.Diff(`## Here

| Refused | Permission | Reason |
|---|---|---|
| other | get pods | no |
| cluster-api | delete awsclusters.infrastructure.cluster.x-k8s.io | `+OnPurpose[0].Why+` |

| Granted and never used | Permission | Reason for the grant |
|---|---|---|
| hypershift-operator | ec2: CreateTags; secrets: watch; services: create, patch | ? |
| hypershift-operator | s3: PutObject | once a year |

`, text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := report.Refused(); err == nil || err.Error() != "other may not get pods: no" {
		t.Error(err)
	}
}

// A reason for a right that is not granted any more is out of date.
func TestReasonsAreForWhatIsGranted(t *testing.T) {
	check := func(holders []Holder, reasons []Reason) {
		for _, reason := range reasons {
			for _, verb := range reason.Verbs {
				for _, holder := range holders {
					if holder.Name == reason.Holder && !holder.Has(Right{reason.Thing, verb}) {
						t.Errorf("%s may not %s %s", reason.Holder, verb, reason.Thing)
					}
				}
			}
		}
	}
	check(must(ServiceAccounts(root))(t), unusedByAccounts)
	check(must(Roles(root))(t), unusedByRoles)
	check(must(ServiceAccounts(root))(t), onlyOnLab)
}

// A right that must be refused is not granted.
func TestNothingIsGrantedThatIsRefusedOnPurpose(t *testing.T) {
	for _, holder := range must(ServiceAccounts(root))(t) {
		for _, reason := range OnPurpose {
			for _, verb := range reason.Verbs {
				if reason.Holder == holder.Name && holder.Has(Right{reason.Thing, verb}) {
					t.Errorf("%s may %s %s", holder.Name, verb, reason.Thing)
				}
			}
		}
	}
}

func must(holders []Holder, err error) func(*testing.T) []Holder {
	return func(t *testing.T) []Holder {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return holders
	}
}
