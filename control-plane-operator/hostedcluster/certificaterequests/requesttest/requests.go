// Package requesttest has certificate requests of nodes, and Machines that are these nodes.
package requesttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Names and addresses of two nodes, the ID of a bootstrap token, and the namespace of the Machines.
const (
	NodeName  = "ip-10-0-1-7.ec2.internal"
	NodeIP    = "10.0.1.7"
	OtherNode = "ip-10-0-1-8.ec2.internal"
	TokenID   = "abcdef"
	Namespace = "clusters-demo"
)

// NodeUser is the prefix of the users of nodes, and NodeGroup their group.
const (
	NodeUser  = "system:node:"
	NodeGroup = "system:nodes"
)

// Machine is the Machine of the node.
func Machine(name, node string, addresses ...string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	m.Status.NodeRef.Name = node
	for _, a := range addresses {
		m.Status.Addresses = append(m.Status.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: a})
	}
	return m
}

// Serving is the request of a kubelet.
func Serving(t testing.TB, change func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)) *certificatesv1.CertificateSigningRequest {
	asks := &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: NodeUser + NodeName, Organization: []string{NodeGroup}}, DNSNames: []string{NodeName}, IPAddresses: []net.IP{net.ParseIP(NodeIP)},
	}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-1"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeletServingSignerName, Username: NodeUser + NodeName, Groups: []string{NodeGroup, "system:authenticated"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}}
	if change != nil {
		change(asks, &csr.Spec)
	}
	if csr.Spec.Request != nil {
		return csr
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, asks, key)
	if err != nil {
		t.Fatal(err)
	}
	csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return csr
}

// Deleted is a machine with a deletion timestamp.
func Deleted(m *clusterv1.Machine) *clusterv1.Machine {
	m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{clusterv1.MachineFinalizer}
	return m
}

// Forge replaces the signature of a request: the client does not have the key.
func Forge(csr *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(csr.Spec.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	csr.Spec.Request = pem.EncodeToMemory(block)
}

// Joining is the request of a kubelet with a bootstrap token.
func Joining(t testing.TB, change func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)) *certificatesv1.CertificateSigningRequest {
	return Serving(t, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.DNSNames, r.IPAddresses = nil, nil
		s.SignerName, s.Username = certificatesv1.KubeAPIServerClientKubeletSignerName, bootstrapapi.BootstrapUserPrefix+TokenID
		s.Groups = []string{bootstrapapi.BootstrapDefaultGroup, "system:bootstrappers:workers", "system:authenticated"}
		s.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
		if change != nil {
			change(r, s)
		}
	})
}

// Waiting is a machine that has not joined. Its instance is known by its name inside the VPC.
func Waiting(name, bootstrap, node string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.Now()}}
	m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: hyperv1.GroupVersion.Group, Kind: "NodeBootstrap", Name: bootstrap}
	if node != "" {
		m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: NodeIP}, {Type: clusterv1.MachineInternalDNS, Address: node}}
	}
	return m
}

// Joined is a machine that has become a node.
func Joined(m *clusterv1.Machine, node string) *clusterv1.Machine {
	m.Status.NodeRef.Name = node
	return m
}

// Since is a machine that was created at one time. Its instance has been ready since another one.
func Since(m *clusterv1.Machine, created, ready time.Time) *clusterv1.Machine {
	m.CreationTimestamp = metav1.NewTime(created)
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.InfrastructureReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(ready)}}
	return m
}
