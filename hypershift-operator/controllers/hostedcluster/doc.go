// Package hostedcluster reconciles HostedClusters: it creates the namespace of a
// control plane with everything that the control-plane-operator needs in it,
// reports the state of the cluster, and deletes everything again.
//
//	live      configuration              errors, and what to change                configuration.go
//	          ► support                  what this installation cannot do          platform.go
//	          ► finalizer, identifiers ► namespace ►                               identifiers.go, namespace.go
//	            limits of the namespace    ResourceQuota and LimitRange            limits.go
//	            pull secret, copies        objects of the user                     userobjects.go
//	            control-plane-operator     Deployment and its permissions          operator.go
//	            token issuer               signing key; OIDC documents in S3       issuer.go
//	            proxy, unmanaged etcd      credentials of the user                 userobjects.go
//	            credentials                one Secret for each role                credentials.go
//	            release image              checks before the control plane         release.go, version.go
//	            HostedControlPlane         input of the control-plane-operator     controlplane.go
//	            network policies           allowed connections                     networkpolicies.go
//	            Cluster API                its objects and controllers             machines.go
//	            published Secrets          kubeconfig, password                    kubeconfig.go
//
//	paused    pause of the control plane ► pause of the machines                   pause.go, machines.go
//
//	deleting  control-plane-operator is kept running                               retention.go
//	          ► node pools ► machines                                              delete.go, machines.go
//	          ► cloud resources of the hosted cluster                              cleanup.go
//	          ► endpoints ► HostedControlPlane ► Cluster API's objects ►
//	          OIDC documents ► namespace ► grace period ► infraID ► finalizer      delete.go, released.go
//
// Packages with narrow inputs do the work that needs neither the reconciler nor its
// scope: validation, userobjects, oidc, clusterapi and controlplane.
//
// A HostedCluster can disappear without these steps: a user removed the finalizer,
// or deleted it before it had one. A reconcile of its namespace then runs the same
// steps with what the namespace and the HostedControlPlane have recorded
// (adoption.go). A new HostedCluster of the same name waits for the namespace.
//
// All live steps after the namespace start together: none waits for a load
// balancer. A deletion follows dependencies: workers need the endpoint, the
// deletion of the endpoint needs the control-plane-operator, and its AWS identity
// needs the documents.
//
// Conditions are pure functions of facts (status.go). Facts that must survive are
// status fields (facts.go). Conditions of the HostedControlPlane are mirrored while
// the control-plane-operator runs (operatorhealth.go); otherwise they are Unknown.
//
// Resources that nothing can delete any more are orphaned after a period, and
// listed in the status (orphaning.go): after AWS rejects the identity, after a user
// deletes the namespace with the control-plane-operator in it, and when the
// operator runs without the bucket. Unknown never leads to orphaning.
//
// The objects of users are never written, except for clusterID and infraID, which
// are set once, and the finalizer.
package hostedcluster
