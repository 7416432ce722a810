package main

import "github.com/hosted-control-planes/hypershift/test/lab/bench/report"

// The figures of other projects, by how they were measured.

func openshift(value string) report.Other {
	return report.Other{Project: "HyperShift", Value: value, Source: "the operators of openshift/hypershift, unmodified, on the same emulated AWS"}
}

func openshiftStub(value string) report.Other {
	return report.Other{Project: "HyperShift (HO)", Value: value, Source: "the hypershift-operator of openshift/hypershift, unmodified and alone, on a strict stub of AWS that takes 60 ms per call"}
}

func openshiftCalls(value string) report.Other {
	return report.Other{Project: "HyperShift (CLI)", Value: value, Source: "computed: the number of AWS calls of openshift/hypershift's command line, which makes one after the other, times 100 ms"}
}

func kamaji(value string) report.Other {
	return report.Other{Project: "Kamaji", Value: value, Source: "clastix/kamaji in the lab of this project, with the same images of Kubernetes and etcd"}
}

func manifests(value string) report.Other {
	return report.Other{Project: "manifests", Value: value, Source: "a control plane of hand-written manifests without any operator, with the same images in the same lab, in the run in which Kamaji took 12.3 s"}
}

func eks(value string) report.Other {
	return report.Other{Project: "Amazon EKS", Value: value, Source: "a usual time of CreateCluster until the cluster is active"}
}
