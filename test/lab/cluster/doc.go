// Package cluster is the API of a lab for tests, the demo and the command:
//
//	lab, err := cluster.Up(ctx, cluster.Options{Progress: os.Stdout})   // or returns the running one
//	lab.Config, lab.Kubeconfig                                          // of the management cluster
//	lab.AddMachine(ctx, cluster.MachineOptions{Name: "w1", Zone: "us-east-1a", Join: kubeconfigOfAnyCluster})
//	lab.KillMachine(ctx, "w1")
//	second, err := lab.Second(ctx, cluster.SecondOptions{})             // another management cluster in the same AWS: second.go
//	lab.Down(ctx)                                                       // of both
//
// A lab continues after the process that started it has ended. It is a supervisor in namespaces of its own (see
// test/lab/supervisor). This package calls the supervisor over a socket in the directory of the lab:
//
//	Up    preflight.go   all missing requirements of the host at once
//	      build.go       programs, into <dir>/bin
//	      host.go        settings of the host, which Down restores
//	      state.go       the supervisor of the lab: its pid and start time
//	      uplink.go      the network link on the host, and the routes through it
//	      client.go      calls of the running lab
//	Down  down.go        kills the supervisor, and with it everything that runs; then removes the rest, which the kernel does not
//
// With USE_EXISTING_CLUSTER=true the cluster of KUBECONFIG is the lab. It is neither created nor removed. Calls that need machines,
// load balancers or AWS of the lab return an error (Existing).
package cluster
