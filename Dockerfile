# syntax=docker/dockerfile:1
# The service without its tools. In production it needs ENCRYPTION_KEY_FILE (or ENCRYPTION_KEY) and
# PUBLIC_URL; without DATABASE_URL an embedded database lives in the volume.
FROM node:24-slim AS manifests
WORKDIR /app
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY client/package.json client/
COPY console/package.json console/
COPY bench/package.json bench/

FROM manifests AS dependencies
RUN npm ci --omit=dev --workspace=wardkeep --no-audit --no-fund --ignore-scripts

# The web console: static files. Nothing else of this stage reaches the image.
FROM manifests AS console
RUN npm ci --workspace=console --no-audit --no-fund --ignore-scripts
COPY tsconfig.json ./
COPY scripts scripts
COPY client client
COPY console console
RUN npm run build --workspace=console

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 METRICS_PORT=9090 DATA_DIR=/var/lib/wardkeep
# Passwords are hashed on these threads, one a processor and never on the last: files need one as well.
ENV UV_THREADPOOL_SIZE=17
WORKDIR /app
COPY --from=dependencies /app ./
COPY LICENSE ./
COPY server server
COPY --from=console /app/console/dist console/dist
# The command for operators: `docker compose exec wardkeep wardkeep …`.
RUN ln -s /app/server/src/main.ts /usr/local/bin/wardkeep
RUN install -d -o node -g node -m 0711 /var/lib/wardkeep \
  && install -d -o node -g node -m 0700 /var/backups/wardkeep
USER node
VOLUME /var/lib/wardkeep /var/backups/wardkeep
EXPOSE 8080
# A worker serves nothing but the port of the metrics.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \
  ["node", "-e", "const { PORT, METRICS_PORT } = process.env; const ask = (at) => fetch(`http://127.0.0.1:${at}`); ask(`${PORT}/readyz`).catch(() => ask(`${METRICS_PORT}/healthz`)).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# No shell in between: SIGTERM reaches the service itself, which stops within ten seconds.
CMD ["node", "--max-semi-space-size=8", "server/src/main.ts", "start"]
