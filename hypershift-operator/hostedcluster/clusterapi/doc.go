// Package clusterapi presents a hosted cluster to Cluster API and runs Cluster API
// and its AWS provider in the namespace of the control plane.
//
//	Cluster, AWSCluster   the control plane and the VPC, which are managed elsewhere   cluster.go
//	machines              remaining machines, and how their deletion ends              machines.go
//	controllers           components clusterapi and capiprovider                         controllers.go
package clusterapi
