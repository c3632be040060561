# Builds the images of vmcp: `docker build --target local .`, `--target gateway` and `--target operator` (make images).
# The lock file pins the Node.js of the images. BASE_IMAGE has glibc, libstdc++ and CA certificates, but no shell.
# `make images BASE_IMAGE=NAME@sha256:...` pins a base image by digest.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot
ARG UV_IMAGE=ghcr.io/astral-sh/uv:0.13.9

FROM ${UV_IMAGE} AS uv

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json build.ts ./
COPY crds ./crds
COPY gateway ./gateway
COPY operator ./operator
RUN npm run --silent build && find dist -name '*.map' -delete

# `vmcp up /config`: the command line of a laptop, with npm and uv for npx:// and uvx:// servers. /state keeps what they install.
# It listens on every address of the container; only ports that you publish can be reached.
FROM ${BUILD_IMAGE} AS local
COPY --from=uv /uv /usr/local/bin/uv
COPY --from=build /src/node_modules/node/bin/node /usr/local/bin/node
COPY --from=build /src/dist /app/dist
COPY bin /app/bin
COPY package.json LICENSE /app/
RUN ln -s /app/bin/vmcp /usr/local/bin/vmcp && mkdir -m 1777 /state
ENV VMCP_HOST=0.0.0.0 XDG_STATE_HOME=/state HOME=/state
LABEL org.opencontainers.image.title="vmcp" org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /state
VOLUME /state
USER 65532:65532
EXPOSE 4483
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["vmcp", "status"]
ENTRYPOINT ["/usr/local/bin/vmcp"]
CMD ["up", "/config"]

FROM ${BASE_IMAGE} AS runtime
COPY --from=build /src/node_modules/node/bin/node /usr/local/bin/node
COPY --from=build /src/dist /app/dist
COPY package.json LICENSE /app/
ENV NODE_ENV=production
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/operator/cli/main.js"]

FROM runtime AS operator
LABEL org.opencontainers.image.title="vmcp operator" org.opencontainers.image.licenses="Apache-2.0"
EXPOSE 8081
CMD ["operator"]

FROM runtime AS gateway
LABEL org.opencontainers.image.title="vmcp gateway" org.opencontainers.image.licenses="Apache-2.0"
EXPOSE 4483 8080
CMD ["gateway", "--config", "/etc/vmcp/config/config.json", "--management-host", "0.0.0.0"]
