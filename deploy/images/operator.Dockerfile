# The image of an operator. From the top of the repository:
#
#   docker build --file deploy/images/operator.Dockerfile --build-arg OPERATOR=etcd --tag <registry>/ballast/etcd-operator:0.1.0 .
#
# OPERATOR is etcd or kafka.
# The bases are pinned by tag. To pin them by digest, as a release should, look the digests up once, with
#   docker buildx imagetools inspect --format '{{.Manifest.Digest}}' <image>
# and pass the references with their digests:
#   --build-arg RUST=docker.io/library/rust:1.95-bookworm@sha256:… --build-arg BASE=gcr.io/distroless/cc-debian12:nonroot@sha256:…
ARG RUST=docker.io/library/rust:1.95-bookworm
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

FROM ${RUST} AS build
ARG OPERATOR=etcd
# protoc and the well-known types: the etcd client is generated from etcd's own definitions.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends protobuf-compiler libprotobuf-dev \
 && rm -rf /var/lib/apt/lists/*
# Writes the list of crates into the binaries, where scanners of images look for it.
RUN cargo install --locked cargo-auditable@0.7.7
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo auditable build --release --locked --package "$OPERATOR-operator" --bin "$OPERATOR-operator" \
 && install -D "target/release/$OPERATOR-operator" /out/operator
# The guard is copied into every application pod, whose image may have another C library or none: it is linked statically.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    host="$(rustc --print host-tuple)" \
 && RUSTFLAGS="-C target-feature=+crt-static" \
    cargo auditable build --release --locked --target "$host" --package ballast-guard --bin ballast-guard \
 && install -D "target/$host/release/ballast-guard" /out/ballast-guard

FROM ${BASE}
ARG OPERATOR=etcd
LABEL org.opencontainers.image.title="$OPERATOR-operator" \
      org.opencontainers.image.description="Operates clusters of $OPERATOR on Kubernetes." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/operator /out/ballast-guard /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/operator"]
CMD ["run"]
