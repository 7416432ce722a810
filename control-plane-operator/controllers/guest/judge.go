package guest

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
)

// judge returns the Machine that vouches for a request for a serving
// certificate, or why none does. All that the certificate would say has to be an
// address of the Machine, and all that it would be good for is to be a server.
func judge(csr *certificatesv1.CertificateSigningRequest, machines []clusterv1.Machine) (machine, why string) {
	node, isNode := strings.CutPrefix(csr.Spec.Username, nodeUser)
	if !isNode || !slices.Contains(csr.Spec.Groups, nodeGroup) {
		return "", "it is not from a node"
	}
	asked, why := parse(csr)
	if why != "" {
		return "", why
	}
	if asked.Subject.CommonName != csr.Spec.Username || !slices.Equal(asked.Subject.Organization, []string{nodeGroup}) {
		return "", "its subject is not the node that asks"
	}
	if len(asked.EmailAddresses)+len(asked.URIs) > 0 {
		return "", "it names more than hosts"
	}
	if len(asked.DNSNames)+len(asked.IPAddresses) == 0 {
		return "", "it names no host"
	}
	for _, m := range machines {
		if !is(m, node) || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if stranger := notOf(m, asked); stranger != "" {
			return "", fmt.Sprintf("%s is no address of Machine %s", stranger, m.Name)
		}
		return m.Name, ""
	}
	return "", "no Machine is node " + node
}

// parse reads the request proper.
func parse(csr *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, string) {
	if csr.Spec.SignerName != certificatesv1.KubeletServingSignerName {
		return nil, "it is for another signer"
	}
	for _, u := range csr.Spec.Usages {
		if u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment && u != certificatesv1.UsageServerAuth {
			return nil, "it is for more than to be a server"
		}
	}
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return nil, "it is not in PEM"
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || asked.CheckSignature() != nil {
		return nil, "it cannot be read, or is not signed with its own key"
	}
	return asked, ""
}

// is says whether the machine is that node: Cluster API has said so, or it has
// not said yet which node it is and the machine has the node's name.
func is(m clusterv1.Machine, node string) bool {
	if m.Status.NodeRef.IsDefined() {
		return m.Status.NodeRef.Name == node
	}
	return slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return a.Address == node })
}

// notOf is the first host of the request that the machine does not have.
func notOf(m clusterv1.Machine, asked *x509.CertificateRequest) string {
	has := func(same func(string) bool) bool {
		return slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return same(a.Address) })
	}
	for _, name := range asked.DNSNames {
		if !has(func(a string) bool { return strings.EqualFold(a, name) }) {
			return name
		}
	}
	for _, ip := range asked.IPAddresses {
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
