# Both operators, the sidecar and the console in one image of static binaries: no shell, no package manager, no root user. Cross-compiled on the
# build platform for the target platform.
FROM --platform=$BUILDPLATFORM golang:1.27 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY api/go.mod api/go.sum api/
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
# What --version prints; `make image` sets it.
ARG VERSION COMMIT DATE
ARG AT=github.com/hosted-control-planes/hypershift/internal/version
# Without grpcnotrace, gRPC links html/template, and with it every method of the AWS SDK: twice the size.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags=grpcnotrace -trimpath -ldflags "-s -w -X $AT.version=$VERSION -X $AT.commit=$COMMIT -X $AT.date=$DATE" -o /out/ ./hypershift-operator ./control-plane-operator ./control-plane-operator/sidecar ./cmd/console

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /usr/bin/
USER 65532:65532
ENTRYPOINT ["/usr/bin/hypershift-operator"]
