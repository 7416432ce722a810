#!/bin/sh
# What of its configuration is due to the machine, and not to the cluster.
exec {{.Kubelet}} "$@" --config-dir=/opt/kubelet.conf.d --v=2
