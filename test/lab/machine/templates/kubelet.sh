#!/bin/sh
# The part of the kubelet's configuration that depends on the machine and not on the cluster.
exec {{.Programs}}/kubelet "$@" --config-dir=/opt/kubelet.conf.d --v=2
