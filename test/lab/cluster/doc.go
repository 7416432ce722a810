// Package cluster is a lab as tests, the demo and the command see it:
//
//	lab, err := cluster.Up(ctx, cluster.Options{Progress: os.Stdout})   // or finds the one that is up
//	lab.Config, lab.Kubeconfig                                          // of the management cluster
//	lab.AddMachine(ctx, cluster.MachineOptions{Name: "w1", Zone: "us-east-1a", Join: kubeconfigOfAnyCluster})
//	lab.KillMachine(ctx, "w1")
//	lab.Down(ctx)
//
// A lab outlives whoever has started it. It is a supervisor in namespaces of its own (see test/lab/supervisor), which we talk to
// over a socket in the directory of the lab:
//
//	Up    preflight.go   what the host lacks, all at once
//	      build.go       programs, into <dir>/bin
//	      host.go        settings of the host, which are put back in the end
//	      state.go       which supervisor there is: the pid, and when it began
//	      uplink.go      the one link that the host gets, and the routes through it
//	      client.go      from then on
//	Down  down.go        the supervisor, and with it everything that runs; then what the kernel does not clean up by itself
//
// With USE_EXISTING_CLUSTER=true the cluster of KUBECONFIG is the lab, and it is neither made nor taken down. What needs machines,
// balancers or AWS of ours says that it has none (Existing).
package cluster
