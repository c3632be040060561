# Builds both images of vmcp: `docker build --target gateway .` and `docker build --target operator .` (make images).
# The lock file pins the Node.js of the images. The base image has glibc, libstdc++ and CA certificates, but no shell.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json build.ts ./
COPY crds ./crds
COPY gateway ./gateway
COPY operator ./operator
RUN npm run --silent build && find dist -name '*.map' -delete

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
