package certificaterequests

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
)

const (
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
)

// servingMachine returns the Machine for which a serving certificate may be signed, or the reason for a rejection. Every
// host in the certificate must be an address of the Machine, and the certificate must be for servers only.
func servingMachine(csr *certificatesv1.CertificateSigningRequest, machines []clusterv1.Machine) (machine, reason string) {
	node, isNode := strings.CutPrefix(csr.Spec.Username, nodeUser)
	if !isNode || !slices.Contains(csr.Spec.Groups, nodeGroup) {
		return "", "it is not from a node"
	}
	request, reason := parse(csr, certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth)
	if reason != "" {
		return "", reason
	}
	if !isOf(request, node) {
		return "", "its subject is not the requesting node"
	}
	if len(request.EmailAddresses)+len(request.URIs) > 0 {
		return "", "it has more than host names and addresses"
	}
	if len(request.DNSNames)+len(request.IPAddresses) == 0 {
		return "", "it has no host name or address"
	}
	for _, m := range machines {
		if !is(m, node) || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if stranger := notOf(m, request); stranger != "" {
			return "", fmt.Sprintf("%s is not an address of Machine %s", stranger, m.Name)
		}
		return m.Name, ""
	}
	return "", "no Machine is node " + node
}

// joinWithin is the time after the creation of its instance within which a Machine may join. The token in the user data
// expires long before.
const joinWithin = 2 * time.Hour

// A joining is a request for the first client certificate of a node.
type joining struct {
	// node is the name in the certificate, and key the digest of its public key.
	node, key string
	// machine is the Machine that the token was created for.
	machine *clusterv1.Machine
}

// joiningMachine returns the content of a request for a new node's client certificate, or the reason for a rejection.
// The requestor's token was created for one Machine, and the certificate must have a name of that Machine.
func joiningMachine(csr *certificatesv1.CertificateSigningRequest, tokens []corev1.Secret, machines []clusterv1.Machine, now time.Time) (joining, string) {
	id, request, reason := joiningRequest(csr)
	if reason != "" {
		return joining{}, reason
	}
	request.machine = machineOf(id, tokens, machines, now)
	if request.machine == nil {
		return joining{}, "no Machine has the token " + id
	}
	return request.ifAllowed(now)
}

// joiningOnDemand does the same for a node on demand. All of them share a token: the name in the certificate decides which of
// the machines it is, and the machine must not have joined.
func joiningOnDemand(csr *certificatesv1.CertificateSigningRequest, machines []clusterv1.Machine, now time.Time) (joining, string) {
	_, request, reason := joiningRequest(csr)
	if reason != "" {
		return joining{}, reason
	}
	for i := range machines {
		if slices.Contains(nodeNames(&machines[i]), request.node) {
			if request.machine != nil {
				return joining{}, "two NodeClaims have the instance " + request.node
			}
			request.machine = &machines[i]
		}
	}
	if request.machine == nil {
		return joining{}, "no NodeClaim has a running instance " + request.node
	}
	return request.ifAllowed(now)
}

// tokenOf returns the ID of the bootstrap token with which the request was made, or "".
func tokenOf(csr *certificatesv1.CertificateSigningRequest) string {
	id, isToken := strings.CutPrefix(csr.Spec.Username, bootstrapapi.BootstrapUserPrefix)
	if !isToken {
		return ""
	}
	return id
}

// joiningRequest returns the ID of the token, the node and the key of a request for a new node's client certificate, or the
// reason for a rejection.
func joiningRequest(csr *certificatesv1.CertificateSigningRequest) (token string, join joining, reason string) {
	token = tokenOf(csr)
	if token == "" || !slices.Contains(csr.Spec.Groups, bootstrapapi.BootstrapDefaultGroup) {
		return "", joining{}, "it is not from a bootstrap token"
	}
	request, reason := parse(csr, certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.UsageClientAuth)
	if reason != "" {
		return "", joining{}, reason
	}
	node, isNode := strings.CutPrefix(request.Subject.CommonName, nodeUser)
	if !isNode || !isOf(request, node) {
		return "", joining{}, "its subject is not a node"
	}
	if len(request.EmailAddresses)+len(request.URIs)+len(request.DNSNames)+len(request.IPAddresses) > 0 {
		return "", joining{}, "it has more than the name of the node"
	}
	sum := sha256.Sum256(request.RawSubjectPublicKeyInfo)
	return token, joining{node: node, key: hex.EncodeToString(sum[:])}, ""
}

// ifAllowed returns the reason for a rejection if the Machine may not join, or not as this node.
func (j joining) ifAllowed(now time.Time) (joining, string) {
	m := j.machine
	switch {
	case !m.DeletionTimestamp.IsZero():
		return joining{}, fmt.Sprintf("Machine %s is being deleted", m.Name)
	case m.Status.NodeRef.IsDefined():
		return joining{}, fmt.Sprintf("Machine %s has joined as node %s", m.Name, m.Status.NodeRef.Name)
	case now.After(provisioned(m).Add(joinWithin)):
		return joining{}, fmt.Sprintf("Machine %s has not joined within %s", m.Name, joinWithin)
	case !slices.Contains(nodeNames(m), j.node):
		return joining{}, fmt.Sprintf("%s is not a name of Machine %s, which has %v", j.node, m.Name, nodeNames(m))
	}
	return j, ""
}

// machineOf returns the Machine that a token was created for. It uses the Secret in this namespace, because the hosted
// cluster's administrators can write the Secret of the same name there.
func machineOf(id string, tokens []corev1.Secret, machines []clusterv1.Machine, now time.Time) *clusterv1.Machine {
	bootstraps := map[string]bool{}
	for i := range tokens {
		if t := objects.BootstrapToken(&tokens[i], now); t != nil && string(t.Data[bootstrapapi.BootstrapTokenIDKey]) == id {
			bootstraps[tokens[i].Labels[hyperv1.BootstrapTokenLabel]] = true
		}
	}
	var found *clusterv1.Machine
	for i := range machines {
		if ref := machines[i].Spec.Bootstrap.ConfigRef; ref.Kind == "NodeBootstrap" && ref.APIGroup == hyperv1.GroupVersion.Group && bootstraps[ref.Name] {
			if found != nil {
				return nil // two Machines with one token: it is the identity of neither
			}
			found = &machines[i]
		}
	}
	return found
}

// provisioned returns the time when the instance of a Machine existed. A Machine may wait for capacity for a long time.
func provisioned(m *clusterv1.Machine) time.Time {
	if c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.InfrastructureReadyCondition); c != nil && c.Status == metav1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return m.CreationTimestamp.Time
}

// nodeNames returns the allowed names of a Machine's node: the names that AWS gives its instance inside the VPC.
func nodeNames(m *clusterv1.Machine) []string {
	var all []string
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalDNS || a.Type == clusterv1.MachineHostName {
			all = append(all, a.Address)
		}
	}
	return all
}

// isOf returns whether the subject of a request is the node of that name.
func isOf(request *x509.CertificateRequest, node string) bool {
	return node != "" && request.Subject.CommonName == nodeUser+node && slices.Equal(request.Subject.Organization, []string{nodeGroup})
}

// parse parses the request. It must be for the signer and the usage.
func parse(csr *certificatesv1.CertificateSigningRequest, signer string, usage certificatesv1.KeyUsage) (*x509.CertificateRequest, string) {
	if csr.Spec.SignerName != signer {
		return nil, "it is for another signer"
	}
	for _, u := range csr.Spec.Usages {
		if u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment && u != usage {
			return nil, "it is for more than " + string(usage)
		}
	}
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return nil, "it is not in PEM"
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || request.CheckSignature() != nil {
		return nil, "it cannot be read, or is not signed with its own key"
	}
	return request, ""
}

// is returns whether the Machine is that node: Cluster API has set its NodeRef, or the Machine has no NodeRef and its
// name is the node's name.
func is(m clusterv1.Machine, node string) bool {
	if m.Status.NodeRef.IsDefined() {
		return m.Status.NodeRef.Name == node
	}
	return slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return a.Address == node })
}

// notOf returns the first host in the request that is not an address of the Machine.
func notOf(m clusterv1.Machine, request *x509.CertificateRequest) string {
	has := func(same func(string) bool) bool {
		return slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return same(a.Address) })
	}
	for _, name := range request.DNSNames {
		if !has(func(a string) bool { return strings.EqualFold(a, name) }) {
			return name
		}
	}
	for _, ip := range request.IPAddresses {
		want, _ := netip.AddrFromSlice(ip)
		if !has(func(a string) bool {
			got, err := netip.ParseAddr(a)
			return err == nil && got.Unmap() == want.Unmap()
		}) {
			return ip.String()
		}
	}
	return ""
}
