// Package hostedcluster reconciles HostedClusters: it creates the namespace of a
// control plane with everything that the control-plane-operator needs in it,
// reports the state of the cluster, and deletes everything again.
//
//	live      configuration              errors, and their remedy                  configuration.go
//	          ► support by this installation                                       configuration.go
//	          ► finalizer, identifiers                                             identifiers.go
//	          ► namespace ►                                                        namespace.go
//	            limits of the namespace    ResourceQuota and LimitRange            namespace.go
//	            pull secret                copy of the user's                      userobjects.go
//	            control-plane-operator     Deployment and its permissions          operator.go, pods.go
//	            token issuer               signing key; OIDC documents in S3       issuer.go
//	            rotation of the signing key   the next step of package signingkeys  signingkey.go
//	            copies of user objects                                             userobjects.go
//	            certificate authorities of the proxy                               userobjects.go
//	            unmanaged etcd credentials                                         userobjects.go
//	            credentials                the roles that are needed               userobjects.go
//	            release image              checks before the control plane         controlplane.go
//	            HostedControlPlane         input of the control-plane-operator     controlplane.go
//	            network policies           allowed connections                     namespace.go
//	            Cluster API objects, Cluster API controllers                       machines.go
//	            nodes on demand            their Secret                            machines.go
//	            kubeconfigs and passwords for users                                userobjects.go
//
//	paused    pause of the control plane ► pause of the machines                   pause.go, machines.go
//
//	deleting  the steps of package teardown                                        controller.go
//
// controller.go has these lists, scope.go gathers the facts of one reconcile, and
// setup.go sets up the watches. The steps adapt the scope to packages that know neither
// the scope nor the Reconciler, and that do the work:
//
//	validation          the faults of a spec
//	infraid             which infraID a cluster gets, and which cluster had it before
//	userobjects         objects of the user, and their copies
//	controlplane        names and objects in the namespace of a control plane
//	isolation           bounds on the reach and the resources of a control plane
//	oidc                signing key and OIDC documents
//	clusterrelease      which release a cluster runs, and has run
//	clusterapi          objects and controllers of Cluster API
//	publishedsecrets    Secrets for the user
//	operatorhealth      why a control-plane-operator does not run
//	teardown            deletion, and control planes without a HostedCluster
//	clusterconditions   conditions, as pure functions of facts
//
// All live steps after the namespace start together: none waits for a load
// balancer. Facts that must survive a reconcile are status fields. Conditions of the
// HostedControlPlane are mirrored while the control-plane-operator runs; otherwise
// they are Unknown.
//
// The objects of users are never written, except for clusterID and infraID, which
// are set once, and the finalizer.
package hostedcluster
