package docs

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// notChecked are documents about other places, or with the names of former versions.
var notChecked = []string{"CHANGELOG.md", "hack/decisions/"}

// forDevelopers are documents that also name identifiers of Go.
var forDevelopers = map[string]bool{
	"CONTRIBUTING.md": true, "docs/upgrade.md": true, "api/client/README.md": true, "docs/development/first-change.md": true,
	"docs/development/code.md": true, "docs/development/tests.md": true, "docs/development/aws-resource.md": true, "docs/development/component.md": true, "docs/development/controller.md": true, "docs/development/api-field.md": true,
}

// TestDocumentsNameWhatExists reads every document of the repository, and the notes of the chart.
func TestDocumentsNameWhatExists(t *testing.T) {
	v := vocabularyOf(t)
	checked := 0
	for _, name := range slices.Sorted(maps.Keys(v.pages)) {
		for _, problem := range v.brokenLinks(v.pages[name]) {
			t.Error(problem)
		}
		if slices.ContainsFunc(notChecked, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		checked++
		for _, problem := range v.problems(v.pages[name]) {
			t.Error(problem)
		}
	}
	if checked < 25 {
		t.Errorf("only %d documents were read", checked)
	}
}

// TestWrongNamesAreFound checks, for each kind of name, a sentence with a name that does not exist.
func TestWrongNamesAreFound(t *testing.T) {
	v := vocabularyOf(t)
	for what, sentence := range map[string]string{
		"a file":                        "See `docs/no-such-page.md`.",
		"a file without its folder":     "See `no_such_file.go`.",
		"a link":                        "See [x](docs/no-such-page.md).",
		"an anchor":                     "See [x](docs/install.md#no-such-heading).",
		"an anchor of the same page":    "See [x](#no-such-heading).",
		"an address in a block":         "\n    https://github.com/hosted-control-planes/hypershift/blob/main/docs/no.md",
		"a link to the repository":      "See [x](https://github.com/hosted-control-planes/hypershift/blob/main/docs/no.md).",
		"a flag":                        "Set `--no-such-flag`.",
		"a flag of the operator":        "\n    hypershift-operator --no-such-flag=1",
		"a flag of kubectl":             "\n    kubectl get nodepool --no-such-flag",
		"a flag of helm":                "\n    helm install x y --no-such-flag",
		"a flag of aws":                 "\n    aws ec2 describe-vpcs --no-such-flag",
		"a make target":                 "Run `make no-such-target`.",
		"a make target in a block":      "\n    make no-such-target",
		"a test":                        "Shown by `TestNoSuchScenario`.",
		"a test in a command":           "\n    make e2e STORIES=TestNoSuchScenario",
		"a condition":                   "`NoSuchCondition` is False.",
		"a condition of kubectl wait":   "\n    kubectl wait --for=condition=NoSuchCondition hostedcluster/example",
		"a reason":                      "| `NoSuchReason` | check it |",
		"an alert":                      "`HypershiftNoSuchAlert` fires.",
		"an annotation":                 "Set `hypershift.openshift.io/no-such-annotation`.",
		"an annotation in a block":      "\n    hypershift.openshift.io/no-such-annotation: \"true\"",
		"an annotation of a command":    "\n    kubectl annotate hostedcluster example hypershift.openshift.io/no-such-annotation=true",
		"a metric":                      "`hypershift_no_such_metric` is 1.",
		"a metric in an expression":     "`sum(hypershift_no_such_metric) > 1`",
		"a field of spec":               "Set `spec.platform.aws.noSuchField`.",
		"a field of status":             "`status.noSuchField` is set.",
		"a field without its beginning": "Set `platform.aws.noSuchField`.",
		"a single field":                "Set `noSuchField`.",
		"a field in a manifest":         "\n    spec:\n      etcd:\n        noSuchField: 1",
		"a field below a kind":          "\n    apiVersion: hypershift.openshift.io/v1beta1\n    kind: NodePool\n    spec:\n      noSuchField: 1",
		"a field in a path of kubectl":  "\n    kubectl get hostedcluster example -o jsonpath='{.status.noSuchField}'",
		"a value of the chart":          "Set `aws.noSuchValue`.",
		"values of the chart":           "\n    # my-values.yaml\n    aws:\n      noSuchValue: 1",
		"a value of helm --set":         "\n    helm install x config/helm/hypershift --set aws.noSuchValue=1",
		"a type of kubectl":             "\n    kubectl get nosuchtypes -A",
		"an object of kubectl":          "\n    kubectl logs -n hypershift deployment/no-such-deployment",
		"an object":                     "Check the Deployment `no-such-deployment`.",
		"an object in a namespace":      "Check the DaemonSet `kube-system/no-such-daemonset`.",
		"a subcommand":                  "\n    kubectl exec deployment/control-plane-operator -- control-plane-operator no-such-subcommand",
	} {
		t.Run(what, func(t *testing.T) {
			p := parse("README.md", sentence)
			if problems := append(v.problems(p), v.brokenLinks(p)...); len(problems) == 0 {
				t.Errorf("nothing is wrong with %q", sentence)
			}
		})
	}
}

func (v *vocabulary) brokenLinks(p page) []string {
	var problems []string
	for _, l := range p.links() {
		to := l.content
		if own, ok := strings.CutPrefix(to, repository); ok {
			to = "/" + own
		} else if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			continue
		}
		file, fragment, _ := strings.Cut(to, "#")
		switch {
		case file == "":
			file = p.name
		case strings.HasPrefix(file, "/"):
			file = strings.TrimPrefix(file, "/")
		default:
			file = path.Join(path.Dir(p.name), file)
		}
		switch {
		case strings.HasPrefix(file, ".."): // Pages of GitHub, such as ../../security/advisories.
		case file == p.name && !p.anchors()[fragment] && fragment != "":
			problems = append(problems, fmt.Sprintf("%s:%d: no heading #%s", p.name, l.line, fragment))
		case !v.files[strings.TrimSuffix(file, "/")]:
			problems = append(problems, fmt.Sprintf("%s:%d: no file %s", p.name, l.line, file))
		case file != p.name && fragment != "" && v.anchors[file] != nil && !v.anchors[file][fragment]:
			problems = append(problems, fmt.Sprintf("%s:%d: %s has no heading #%s", p.name, l.line, file, fragment))
		}
	}
	return problems
}

const repository = "https://github.com/hosted-control-planes/hypershift/blob/main/"

var (
	// kindOf is a name in the style of code after the kind of its object.
	kindOf  = regexp.MustCompile("\\b(Deployment|DaemonSet|StatefulSet|Service|ConfigMap|Secret|ClusterRole|ClusterRoleBinding|StorageClass|CSIDriver|APIService|Lease|PriorityClass|ControlPlaneComponent)s? `([a-z0-9][a-z0-9:./-]*)`")
	metric  = regexp.MustCompile(`\bhypershift_[a-z_]+\b`)
	pointer = regexp.MustCompile(`\.(?:status|spec)\.[a-zA-Z.]+`)
)

// problems returns the names on the page that do not exist.
func (v *vocabulary) problems(p page) []string {
	var problems []string
	report := func(at text, what, name string) {
		if forDevelopers[p.name] && v.code[name[strings.LastIndex(name, ".")+1:]] {
			return
		}
		problems = append(problems, fmt.Sprintf("%s:%d: no %s %s", p.name, at.line, what, name))
	}
	for _, line := range p.prose {
		for _, found := range kindOf.FindAllStringSubmatch(line.content, -1) {
			if name := found[2][strings.LastIndex(found[2], "/")+1:]; !v.objects[name] && !ofUsers[name] {
				report(line, found[1], name)
			}
		}
	}
	for _, s := range p.spans() {
		if isCommand(s.content) {
			v.command(s.content, func(what, name string) { report(s, what, name) })
			continue
		}
		v.tokens(s.content, func(what, name string) { report(s, what, name) })
	}
	for _, block := range p.blocks {
		v.block(block, report)
	}
	return problems
}

var (
	annotation = regexp.MustCompile(`[a-z0-9.-]*hypershift\.openshift\.io/[a-z0-9][a-z0-9-]*`)
	camelPath  = regexp.MustCompile(`^\.?[a-z][a-zA-Z0-9]*(\[[0-9*]*\])?(\.[a-zA-Z0-9]+(\[[0-9*]*\])?)+$`)
	camel      = regexp.MustCompile(`^[a-z]+[0-9]*[A-Z][A-Za-z0-9]*$`)
	fileName   = regexp.MustCompile(`^[A-Za-z0-9_.-]+\.(go|md|sh|json|yaml|py|txt)$`)
	index      = regexp.MustCompile(`\[[0-9*]*\]`)
)

// isAnnotation is true for an annotation or label of the code, for those with the domain of requests, whose names are of containers, and for the
// version of the API.
func (v *vocabulary) isAnnotation(found string) bool {
	return v.literals[found] || strings.HasPrefix(found, hyperv1.ResourceRequestOverrideAnnotationPrefix+"/") || strings.HasSuffix(found, "/v1beta1")
}

// tokens checks a text in the style of code that is no command.
func (v *vocabulary) tokens(content string, report func(what, name string)) {
	for _, found := range annotation.FindAllString(content, -1) {
		if cut := strings.Index(content, found) + len(found); strings.HasPrefix(content[cut:], "…") || strings.HasPrefix(content[cut:], "<") || strings.HasPrefix(content[cut:], "{") {
			continue
		}
		if !v.isAnnotation(found) && !v.resources[strings.TrimSuffix(found, "/v1beta1")] {
			report("annotation or label", found)
		}
	}
	for _, found := range metric.FindAllString(content, -1) {
		if !v.literals[found] {
			report("metric", found)
		}
	}
	for _, found := range flagText.FindAllStringSubmatch(content, -1) {
		if strings.HasPrefix(content, "--") && !v.flags[found[1]] && !v.literals[found[1]] && !ofTools(found[1]) {
			report("flag", "--"+found[1])
		}
	}
	key, value, pair := strings.Cut(content, ": ")
	if pair && !strings.ContainsAny(key, " /") {
		v.token(key, report)
		v.token(strings.Trim(value, `"`), report)
		return
	}
	key, value, pair = strings.Cut(content, "=")
	if pair && !strings.ContainsAny(key, " -/") {
		v.token(key, report)
		v.token(value, report)
		return
	}
	v.token(content, report)
}

// token checks one name.
func (v *vocabulary) token(name string, report func(what, name string)) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/...")
	top, _, slash := strings.Cut(name, "/")
	switch {
	case foreignNames[name] || strings.HasPrefix(name, "/") || strings.ContainsAny(name, " <>…{}()$\"'|:"):
	case v.bases[name] || ofUsers[name]:
	case strings.HasPrefix(name, "Test") && upperCamel.MatchString(name):
		if !v.tests[name] {
			report("test", name)
		}
	case slash && v.files[top] && !strings.Contains(name, ".openshift.io"):
		if !v.match(name) {
			report("file", name)
		}
	case fileName.MatchString(name):
		report("file", name)
	case camelPath.MatchString(name):
		segments := strings.Split(strings.TrimPrefix(index.ReplaceAllString(name, ""), "."), ".")
		if !v.path(segments) {
			report("field", name)
		}
	case camel.MatchString(name):
		if !v.fields.anywhere([]string{name}) && !v.values.anywhere([]string{name}) && !v.literals[name] {
			report("field", name)
		}
	case upperCamel.MatchString(name) && strings.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz"):
		if !v.names[name] {
			report("condition, reason, kind or value", name)
		}
	}
}

// match reports whether a file or folder of that name exists, where * is any part.
func (v *vocabulary) match(name string) bool {
	name = strings.TrimSuffix(name, "/")
	if v.files[name] {
		return true
	}
	if !strings.Contains(name, "*") {
		return false
	}
	for file := range v.files {
		if matched, err := path.Match(name, file); err == nil && matched {
			return true
		}
	}
	return false
}

// path reports whether a field exists in a CRD of this or another project, or in the values of the chart.
func (v *vocabulary) path(segments []string) bool {
	if host.MatchString(strings.Join(segments, ".")) || foreignPaths[strings.Join(segments, ".")] {
		return true
	}
	if v.fields.has(segments) || v.fields.anywhere(segments) || v.values.has(segments) || v.values.anywhere(segments) {
		return true
	}
	return false
}

var (
	host       = regexp.MustCompile(`(^|\.)(example\.(com|test)|amazonaws\.com|aws|aws\.com|io|sh|local|internal|svc|conf|gz|db|service|timer|socket|toml)$|\.(hypershift|example)\.`)
	assignment = regexp.MustCompile(`^[A-Z_]+=\S*$`)
	separators = regexp.MustCompile(`\s*(?:\|\||&&|[;|])\s*|\$\(|<\(|\n`)
	comment    = regexp.MustCompile(`(^|\s)#.*`)
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// isCommand reports whether a text begins with a program.
func isCommand(content string) bool {
	for _, word := range strings.Fields(strings.TrimPrefix(content, "$ ")) {
		if assignment.MatchString(word) || word == "export" || word == "sudo" {
			continue
		}
		_, known := tools[word]
		return known && strings.Contains(content, " ")
	}
	return false
}

// command checks the programs in one command line, which can have pipes.
func (v *vocabulary) command(line string, report func(what, name string)) {
	for _, found := range annotation.FindAllString(line, -1) {
		if !v.isAnnotation(found) {
			report("annotation or label", found)
		}
	}
	for _, found := range metric.FindAllString(line, -1) {
		if !v.literals[found] {
			report("metric", found)
		}
	}
	for _, found := range pointer.FindAllString(line, -1) {
		if !v.path(strings.Split(strings.Trim(found, "."), ".")) {
			report("field", found)
		}
	}
	// Separators of commands and words do not separate in quotes.
	outside := quoted.ReplaceAllStringFunc(line, func(s string) string {
		return strings.NewReplacer("|", "¦", ";", "¦", "&", "¦", " ", "␣").Replace(s)
	})
	for _, part := range separators.Split(outside, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (assignment.MatchString(words[0]) || words[0] == "export" || words[0] == "sudo" || words[0] == "$") {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		tool := words[0]
		flags, known := tools[tool]
		if !known {
			continue
		}
		own := false // after kubectl exec ... --
		for _, word := range words[1:] {
			if word == "--" {
				own = true
			}
			for _, found := range flagText.FindAllStringSubmatch(word, -1) {
				if !strings.HasPrefix(word, "--") {
					continue
				}
				if (flags == nil || own) && !v.flags[found[1]] && !ofTools(found[1]) {
					report("flag of "+tool, "--"+found[1])
				}
				if flags != nil && !own && !slices.Contains(strings.Fields(*flags), found[1]) {
					report("flag of "+tool, "--"+found[1])
				}
			}
			if condition, ok := strings.CutPrefix(word, "--for=condition="); ok {
				if name, _, _ := strings.Cut(condition, "="); !v.names[name] && !foreignNames[name] {
					report("condition", name)
				}
			}
			bare := strings.TrimPrefix(strings.Trim(word, `"'`), "./")
			if top, _, slash := strings.Cut(bare, "/"); slash && top != "" && v.files[top] && !strings.ContainsAny(bare, "<>$…{") && !v.match(strings.TrimSuffix(bare, "/...")) {
				report("file", bare)
			}
		}
		switch tool {
		case "make":
			v.make(words[1:], report)
		case "kubectl":
			v.kubectl(words[1:], report)
		case "helm":
			if !strings.Contains(part, "config/helm/hypershift") { // The chart of another project.
				continue
			}
			for i, word := range words {
				if word == "--set" && i+1 < len(words) {
					word = "--set=" + words[i+1]
				}
				set, ok := strings.CutPrefix(word, "--set=")
				if !ok {
					continue
				}
				for _, pair := range strings.Split(set, ",") {
					name, _, _ := strings.Cut(pair, "=")
					if !v.values.has(strings.Split(name, ".")) {
						report("value of the chart", name)
					}
				}
			}
		case "hypershift-operator", "control-plane-operator":
			if len(words) > 1 && !strings.HasPrefix(words[1], "-") && !v.literals[words[1]] {
				report("subcommand of "+tool, words[1])
			}
		}
		if at := slices.Index(words, "--"); at >= 0 && at+2 < len(words) && strings.HasSuffix(words[at+1], "-operator") && words[at+2][0] != '-' && !v.literals[words[at+2]] {
			report("subcommand of "+words[at+1], words[at+2])
		}
	}
}

func (v *vocabulary) make(words []string, report func(what, name string)) {
	for _, word := range words {
		name, value, variable := strings.Cut(word, "=")
		switch {
		case variable && name == "STORIES":
			for _, test := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("'¦|\\.", r) }) {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(v.tests)), func(known string) bool { return strings.Contains(known, test) }) {
					report("test", test)
				}
			}
		case !variable && !strings.HasPrefix(word, "-") && !v.targets[word]:
			report("make target", word)
			return
		}
	}
}

// kubectl checks the type and, for types that users do not create, the name.
func (v *vocabulary) kubectl(words []string, report func(what, name string)) {
	var arguments []string
	for i := 0; i < len(words) && words[i] != "--"; i++ {
		if strings.HasPrefix(words[i], "-") {
			if withValue[words[i]] {
				i++
			}
			continue
		}
		arguments = append(arguments, words[i])
	}
	if len(arguments) < 2 {
		return
	}
	verb, what := arguments[0], arguments[1:]
	switch verb {
	case "create", "apply", "config", "auth", "certificate", "version", "top", "explain", "api-resources":
		return
	case "rollout", "set":
		what = what[1:]
	}
	if len(what) == 0 || strings.HasPrefix(what[0], "<") || strings.Contains(what[0], "$") {
		return
	}
	kinds, name, slash := strings.Cut(what[0], "/")
	if (verb == "logs" || verb == "exec" || verb == "port-forward") && !slash {
		return // a pod
	}
	for _, kind := range strings.Split(kinds, ",") {
		kind = strings.ToLower(kind)
		if !v.resources[kind] && !foreignResources[kind] {
			report("resource", kind)
		}
	}
	if !slash && len(what) > 1 && !strings.Contains(what[1], "=") {
		name = what[1]
	}
	if installed[strings.ToLower(kinds)] && name != "" && !strings.ContainsAny(name, "<$…") && !v.objects[name] && !ofUsers[name] {
		report(kinds, name)
	}
}

// block checks commands, manifests and values.
func (v *vocabulary) block(block text, report func(at text, what, name string)) {
	at := func(what, name string) { report(block, what, name) }
	commands := false
	joined := strings.ReplaceAll(block.content, "\\\n", " ")
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
		if isCommand(line) {
			commands = true
			v.command(line, at)
		}
	}
	if commands {
		return
	}
	for document := range strings.SplitSeq(block.content, "\n---\n") {
		var content map[string]any
		if yaml.Unmarshal([]byte(strings.ReplaceAll(document, "...", "")), &content) != nil || len(content) == 0 {
			continue
		}
		v.manifest(document, content, at)
	}
}

func (v *vocabulary) manifest(source string, content map[string]any, report func(what, name string)) {
	for _, found := range annotation.FindAllString(source, -1) {
		if !v.isAnnotation(found) {
			report("annotation or label", found)
		}
	}
	if kind, ok := content["kind"].(string); ok {
		if s := v.kinds[kind]; s != nil {
			delete(content, "metadata")
			delete(content, "kind")
			delete(content, "apiVersion")
			if found := s.problem("", content); found != "" {
				report("field of "+kind, found)
			}
		}
		return
	}
	if content["spec"] != nil || content["status"] != nil {
		first := ""
		for _, kind := range []string{"HostedCluster", "NodePool", "HostedControlPlane", "AWSEndpointService"} {
			found := v.kinds[kind].problem("", content)
			if found == "" {
				return
			}
			if kind == "HostedCluster" {
				first = found
			}
		}
		report("field", first)
		return
	}
	ours := strings.Contains(source, "values.yaml")
	for key := range content {
		ours = ours || v.values.properties[key] != nil
	}
	if ours {
		if found := v.values.problem("", content); found != "" {
			report("value of the chart", found)
		}
	}
}
