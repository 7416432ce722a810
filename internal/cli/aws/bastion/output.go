package bastion

import (
	"fmt"
	"strings"
)

// Output is the result: the instance, and the commands that use it.
type Output struct {
	InstanceID string `json:"instanceID"`
	SubnetID   string `json:"subnetID"`
	Region     string `json:"region"`
	// Shell opens a shell on the instance.
	Shell string `json:"shell"`
	// PortForward forwards a port of this machine to the API server, and Kubectl uses it. Both are empty if its name is not known.
	PortForward string `json:"portForward,omitempty"`
	Kubectl     string `json:"kubectl,omitempty"`
}

// localPort is the port of the user's machine.
const localPort = 6443

// NewOutput returns the result. host and port are the address of the API server for the VPC; host may be empty.
func NewOutput(s Spec, p Place, instance, host string, port int32) Output {
	session := fmt.Sprintf("aws ssm start-session --region %s --target %s", s.Region, instance)
	o := Output{InstanceID: instance, SubnetID: p.Subnet, Region: s.Region, Shell: session}
	if host != "" {
		o.PortForward = fmt.Sprintf(`%s --document-name AWS-StartPortForwardingSessionToRemoteHost --parameters '{"host":["%s"],"portNumber":["%d"],"localPortNumber":["%d"]}'`,
			session, host, port, localPort)
		o.Kubectl = fmt.Sprintf("kubectl --server https://127.0.0.1:%d --tls-server-name %s get nodes", localPort, host)
	}
	return o
}

// String is the result for a person.
func (o Output) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "instance %s in %s; its agent connects within two minutes\n\nA shell:\n  %s\n", o.InstanceID, o.SubnetID, o.Shell)
	if o.PortForward != "" {
		fmt.Fprintf(&b, "\nThe API server of the cluster, with its kubeconfig:\n  %s\n  %s\n", o.PortForward, o.Kubectl)
	}
	return b.String()
}
