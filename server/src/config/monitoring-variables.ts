import { host, integer, oneOf, variable } from './variable.ts'

export const MONITORING_VARIABLES = {
  METRICS_PORT: variable({
    meaning: 'Port for `/metrics` (Prometheus) and `/healthz`, both without authentication',
    default: 'none; the port is not opened',
    read: (text) => (text === undefined ? undefined : integer(0, 0, 65_535)(text)),
  }),
  METRICS_HOST: variable({
    meaning: 'Address that METRICS_PORT listens on',
    default: '127.0.0.1',
    read: host,
  }),
  LOG_LEVEL: variable({
    meaning:
      '`debug`, `info`, `warn`, `error` or `silent`. `debug` includes each delivered webhook message.',
    default: 'info',
    read: oneOf('info', ['debug', 'info', 'warn', 'error', 'silent']),
  }),
}
