#!/bin/sh
# The part of the kubelet's configuration that depends on the machine and not on the cluster.
exec {{.Kubelet}} "$@" --config-dir=/opt/kubelet.conf.d --v=2
