package awsemulator

import (
	"fmt"
	"net/http"
)

// NoCapacity is the refusal of a zone that has run out of machines of a type. It lasts: the SDK takes it for a failure of the
// server and tries again.
func NoCapacity(account, instanceType, zone string) Fault {
	return Fault{
		Kind: Error, Service: "ec2", Action: "RunInstances", Account: account, Count: Forever,
		Code: "InsufficientInstanceCapacity", Status: http.StatusInternalServerError,
		Message: fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity.", instanceType, zone),
	}
}

// InstanceLimit is the refusal of an account that has as many virtual CPUs as its quota allows.
func InstanceLimit(account string, quota int) Fault {
	return Fault{
		Kind: Error, Service: "ec2", Action: "RunInstances", Account: account, Count: Forever,
		Code: "VcpuLimitExceeded", Status: http.StatusBadRequest,
		Message: fmt.Sprintf("You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", quota),
	}
}
