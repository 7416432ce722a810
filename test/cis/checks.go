package cis

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Check returns the violation of a sample, or "".
type Check func(Sample) string

func all(checks ...Check) Check {
	return func(s Sample) string {
		for _, check := range checks {
			if problem := check(s); problem != "" {
				return problem
			}
		}
		return ""
	}
}

func present(names ...string) Check {
	return func(s Sample) string {
		for _, name := range names {
			if len(s.Flags[name]) == 0 || slices.Contains(s.Flags[name], "") {
				return name + " is not set"
			}
		}
		return ""
	}
}

func absent(name string) Check {
	return func(s Sample) string {
		if len(s.Flags[name]) > 0 {
			return name + " is set"
		}
		return ""
	}
}

func is(name, value string) Check {
	return func(s Sample) string {
		if !slices.Equal(s.Flags[name], []string{value}) {
			return fmt.Sprintf("%s is %q, not %s", name, s.Flags[name], value)
		}
		return ""
	}
}

// lists requires an item of a flag with a list.
func lists(name, item string) Check {
	return func(s Sample) string {
		if !slices.Contains(s.items(name), item) {
			return fmt.Sprintf("%s does not have %s", name, item)
		}
		return ""
	}
}

func listsNo(name, item string) Check {
	return func(s Sample) string {
		if slices.ContainsFunc(s.items(name), func(got string) bool { return strings.EqualFold(got, item) }) {
			return fmt.Sprintf("%s has %s", name, item)
		}
		return ""
	}
}

func (s Sample) items(name string) []string {
	return strings.Split(strings.Join(s.Flags[name], ","), ",")
}

// field requires a value in the configuration file. The path is separated by dots.
func field(path string, want any) Check {
	return func(s Sample) string {
		if got := s.field(path); got != want {
			return fmt.Sprintf("%s is %v, not %v", path, got, want)
		}
		return ""
	}
}

// filled requires any value in the configuration file.
func filled(paths ...string) Check {
	return func(s Sample) string {
		for _, path := range paths {
			if text, ok := s.field(path).(string); !ok || text == "" {
				return path + " is not set"
			}
		}
		return ""
	}
}

// unset requires the default in the configuration file, and that no flag replaces it.
func unset(path, flag string) Check {
	return func(s Sample) string {
		if got := s.field(path); got != nil {
			return fmt.Sprintf("%s is %v", path, got)
		}
		return absent(flag)(s)
	}
}

func (s Sample) field(path string) any {
	var at any = s.Config
	for part := range strings.SplitSeq(path, ".") {
		fields, _ := at.(map[string]any)
		at = fields[part]
	}
	return at
}

// strongCiphers accepts the suites that Go considers secure and that have forward secrecy and authenticated encryption. The suites
// of TLS 1.3 cannot be chosen, and are all strong.
func strongCiphers(s Sample) string {
	if slices.Contains(s.Flags["--tls-min-version"], "VersionTLS13") {
		return ""
	}
	return strong(s.items("--tls-cipher-suites"))
}

func strongCiphersOfKubelet(s Sample) string {
	list, _ := s.field("tlsCipherSuites").([]any)
	var suites []string
	for _, suite := range list {
		suites = append(suites, fmt.Sprint(suite))
	}
	return strong(suites)
}

func strong(suites []string) string {
	var secure []string
	for _, suite := range tls.CipherSuites() {
		if strings.HasPrefix(suite.Name, "TLS_ECDHE_") && !strings.Contains(suite.Name, "_CBC_") {
			secure = append(secure, suite.Name)
		}
	}
	if len(suites) == 0 {
		return "the suites are the default"
	}
	for _, suite := range suites {
		if !slices.Contains(secure, suite) {
			return fmt.Sprintf("%q is not strong", suite)
		}
	}
	return ""
}

// encrypted requires that Secrets are written with a key.
func encrypted(s Sample) string {
	for _, r := range s.Encryption.Resources {
		if slices.Contains(r.Resources, "secrets") && len(r.Providers) > 0 {
			for _, provider := range []string{"aescbc", "kms"} {
				if r.Providers[0][provider] != nil {
					return ""
				}
			}
		}
	}
	return "Secrets are written in plain text"
}

// audited requires a record of each sensitive request, and no contents of confidential objects.
func audited(s Sample) string {
	for _, object := range []struct{ group, resource, at string }{
		{"", "secrets", "Metadata"}, {"", "configmaps", "Metadata"}, {"authentication.k8s.io", "tokenreviews", "Metadata"},
		{"", "pods", ""}, {"apps", "deployments", ""},
		{"", "pods/exec", ""}, {"", "pods/portforward", ""}, {"", "pods/proxy", ""}, {"", "services/proxy", ""},
	} {
		for _, verb := range []string{"get", "create", "update", "delete"} {
			level := s.Audit.level(verb, object.group, object.resource)
			if level == "" || level == "None" || object.at != "" && level != object.at {
				return fmt.Sprintf("the level of %s %s is %q", verb, object.resource, level)
			}
		}
	}
	return ""
}

// level returns the level of a request by an ordinary user: the first rule that matches decides.
func (p auditPolicy) level(verb, group, resource string) string {
	for _, rule := range p.Rules {
		matches := len(rule.Users)+len(rule.UserGroups)+len(rule.NonResourceURLs) == 0 && (len(rule.Verbs) == 0 || slices.Contains(rule.Verbs, verb))
		named := len(rule.Resources) == 0
		for _, r := range rule.Resources {
			named = named || r.Group == group && (len(r.Resources) == 0 || slices.Contains(r.Resources, resource))
		}
		if matches && named {
			return rule.Level
		}
	}
	return ""
}

// isolated requires a pod that has no file of its node: no process of the node, and no other pod, can write its files.
func isolated(s Sample) string {
	if s.Pod.HostNetwork || s.Pod.HostPID || s.Pod.HostIPC {
		return "the pod uses namespaces of its node"
	}
	for _, v := range s.Pod.Volumes {
		if v.HostPath != nil {
			return "the pod mounts " + v.HostPath.Path
		}
	}
	return ""
}

// unprivileged requires that no container runs as root, or can write to its image, or get more privileges.
func unprivileged(s Sample) string {
	security := s.Pod.SecurityContext
	if security == nil || security.RunAsNonRoot == nil || !*security.RunAsNonRoot {
		return "the pod may run as root"
	}
	for _, c := range slices.Concat(s.Pod.InitContainers, s.Pod.Containers) {
		own := c.SecurityContext
		switch {
		case own == nil || own.ReadOnlyRootFilesystem == nil || !*own.ReadOnlyRootFilesystem:
			return "container " + c.Name + " can write to its image"
		case own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || own.Privileged != nil && *own.Privileged:
			return "container " + c.Name + " can get more privileges"
		case own.RunAsUser != nil && *own.RunAsUser == 0:
			return "container " + c.Name + " runs as root"
		}
	}
	return ""
}

// readOnlySecrets requires that no container can write to a key, a certificate or a kubeconfig.
func readOnlySecrets(s Sample) string {
	secrets := map[string]bool{}
	for _, v := range s.Pod.Volumes {
		if v.Secret != nil {
			secrets[v.Name] = true
		}
	}
	for _, c := range slices.Concat(s.Pod.InitContainers, s.Pod.Containers) {
		for _, m := range c.VolumeMounts {
			if secrets[m.Name] && !m.ReadOnly {
				return "container " + c.Name + " can write to " + m.MountPath
			}
		}
	}
	return ""
}

const (
	kubeletConfig = "/etc/kubernetes/kubelet.yaml"
	kubeletUnit   = "/etc/systemd/system/kubelet.service.d/90-hypershift.conf"
	bootstrapFile = "/etc/kubernetes/bootstrap.kubeconfig"
	clientCAFile  = "/etc/kubernetes/pki/kubelet-clients.crt"
)

// mode requires that a file of a node has no more permissions than these.
func mode(path string, most int64) Check {
	return func(s Sample) string {
		got, err := strconv.ParseInt(s.Files[path].Permissions, 8, 32)
		if err != nil || got&^most != 0 {
			return fmt.Sprintf("%s has the mode %s", path, s.Files[path].Permissions)
		}
		return ""
	}
}

// ofRoot requires that user data sets no owner: cloud-init and Ignition write files as root.
func ofRoot(path string) Check {
	return func(s Sample) string {
		if f, ok := s.Files[path]; !ok || f.Owner != "" && f.Owner != "root:root" {
			return fmt.Sprintf("%s is of %q", path, f.Owner)
		}
		return ""
	}
}
