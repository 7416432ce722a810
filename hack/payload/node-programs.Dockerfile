# The programs of a node, for machines that install them when they start: see docs/node-images.md.
FROM --platform=$BUILDPLATFORM debian:12-slim AS fetch
ARG TARGETARCH
ARG KUBERNETES=v1.37.2
ARG CONTAINERD=2.3.7
ARG RUNC=v1.5.2
ARG CNI=v1.9.1
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl
WORKDIR /out/usr/local/bin
RUN set -eu; \
    fetch() { curl -sSfLO "$1/$2"; }; \
    mkdir -p /tmp/fetch /out/opt/cni/bin; cd /tmp/fetch; \
    fetch "https://dl.k8s.io/release/$KUBERNETES/bin/linux/$TARGETARCH" kubelet; \
    echo "$(curl -sSfL https://dl.k8s.io/release/$KUBERNETES/bin/linux/$TARGETARCH/kubelet.sha256)  kubelet" | sha256sum -c; \
    fetch "https://github.com/containerd/containerd/releases/download/v$CONTAINERD" containerd-$CONTAINERD-linux-$TARGETARCH.tar.gz; \
    fetch "https://github.com/containerd/containerd/releases/download/v$CONTAINERD" containerd-$CONTAINERD-linux-$TARGETARCH.tar.gz.sha256sum; \
    sha256sum -c *.sha256sum; \
    fetch "https://github.com/opencontainers/runc/releases/download/$RUNC" runc.$TARGETARCH; \
    fetch "https://github.com/opencontainers/runc/releases/download/$RUNC" runc.sha256sum; \
    sha256sum -c --ignore-missing runc.sha256sum; \
    fetch "https://github.com/containernetworking/plugins/releases/download/$CNI" cni-plugins-linux-$TARGETARCH-$CNI.tgz; \
    fetch "https://github.com/containernetworking/plugins/releases/download/$CNI" cni-plugins-linux-$TARGETARCH-$CNI.tgz.sha256; \
    sha256sum -c cni-plugins-*.sha256; \
    tar -xzf containerd-*.tar.gz -C /out/usr/local bin/containerd bin/containerd-shim-runc-v2 bin/ctr; \
    install -m 0755 kubelet /out/usr/local/bin/kubelet; \
    install -m 0755 runc.$TARGETARCH /out/usr/local/bin/runc; \
    tar -xzf cni-plugins-linux-$TARGETARCH-$CNI.tgz -C /out/opt/cni/bin

FROM scratch
COPY --from=fetch /out /
