/** Exports the audit log to a SIEM: every entry, in the order of the journal, at least once (ADR 0043). */
import type { Needs } from '../../core.ts'
import { SECOND } from '../../lib/clock.ts'
import type { ComponentHealth, Feature } from '../../platform/feature/feature.ts'
import {
  type ForwardState,
  findForwardState,
  forward,
  type NumberedEntry,
  type Receiver,
} from '../../platform/journal/index.ts'
import type { Tenure } from '../../platform/lease/index.ts'
import { openPostTarget, openStreams, type TlsIdentity } from '../../platform/net/index.ts'
import { bodies } from './formats/bodies.ts'
import { syslogFormatter } from './formats/syslog-message.ts'
import { type SiemMetrics, siemMetrics } from './metrics.ts'
import { findLagSeconds } from './siem.store.ts'
import { httpsReceiver, newHttpsMemory } from './transports/https.ts'
import { syslogReceiver } from './transports/syslog.ts'

/** The name of the export's position in the journal. */
export const SIEM_CONSUMER = 'siem'
const TITLE = 'SIEM export'
const HEALTH_MS = 5 * SECOND
/** The export's own database connections, so that requests do not wait for it. */
const POOL_SIZE = 2

type Core = Needs<
  'db' | 'log' | 'clock' | 'changes' | 'readers' | 'metrics' | 'publicUrl' | 'version' | 'openPool',
  | 'SIEM_URL'
  | 'SIEM_FORMAT'
  | 'SIEM_SINCE'
  | 'SIEM_CA_FILE'
  | 'SIEM_CLIENT_CERT_FILE'
  | 'SIEM_CLIENT_KEY_FILE'
  | 'SIEM_TOKEN'
>

export function openSiem(core: Core): Feature {
  const { db, readers, config } = core
  const { SIEM_URL: receiver } = config
  const lag = () => db.acrossTenants((tx) => findLagSeconds(tx, SIEM_CONSUMER), 'read')
  const isConfigured = receiver !== undefined
  const metrics = siemMetrics(core.metrics.registry, async () => (isConfigured ? lag() : 0))
  if (!isConfigured) return { name: 'siem', capabilities: { siem_export_enabled: false } }
  readers.add(SIEM_CONSUMER, { includesAccesses: true })
  let state: ForwardState | undefined
  const { open, close } = receiversOf(core, receiver, metrics)
  return {
    name: 'siem',
    goesOut: true,
    background() {
      const own = core.openPool(POOL_SIZE)
      const { idle, stop } = forward(
        { ...core, db: own },
        {
          name: SIEM_CONSUMER,
          title: TITLE,
          includesAccesses: true,
          since: config.SIEM_SINCE,
          open,
          onFailure: metrics.failed,
        },
      )
      return { idle, stop: () => stop().finally(own.close) }
    },
    upkeep: [
      {
        what: 'SIEM export health check',
        everyMs: HEALTH_MS,
        isNeededToServe: false,
        // The row says it for all nodes, although only one of them exports.
        run: async () => {
          state = await db.acrossTenants((tx) => findForwardState(tx, SIEM_CONSUMER), 'read')
        },
      },
    ],
    capabilities: { siem_export_enabled: () => (state?.failing_since ?? null) === null },
    checks: { siem: () => healthOf(state) },
    close,
  }
}

function healthOf(state: ForwardState | undefined): ComponentHealth {
  if (!state?.failing_since) return { state: 'ok' }
  return {
    state: 'degraded',
    reason: `The SIEM does not receive the audit log: ${state.error}. Entries wait until it does.`,
    since: state.failing_since,
    runbook: 'unreachable-siem.md',
  }
}

interface Receivers {
  open(tenure: Tenure): Receiver
  close(): Promise<void>
}

function receiversOf(
  core: Core,
  receiver: NonNullable<Core['config']['SIEM_URL']>,
  metrics: SiemMetrics,
): Receivers {
  const { clock, log, version, config } = core
  const format = config.SIEM_FORMAT
  const bodyOf = bodies(version)[format]
  const identity: TlsIdentity = {
    ca: config.SIEM_CA_FILE,
    cert: config.SIEM_CLIENT_CERT_FILE,
    key: config.SIEM_CLIENT_KEY_FILE,
  }
  if (receiver.transport === 'https') {
    const target = openPostTarget(receiver.url, identity)
    const authorization = authorizationOf(config.SIEM_TOKEN)
    const memory = newHttpsMemory()
    const shared = { target, format, bodyOf, authorization, log, memory, onSent: metrics.sent }
    return {
      open: ({ over: signal }) =>
        httpsReceiver({ ...shared, signal, onRejected: metrics.rejected }),
      close: target.close,
    }
  }
  const { host, port, transport } = receiver
  if (transport === 'syslog+tcp')
    log.warn({}, 'the audit log is exported without encryption (syslog+tcp)')
  const streams = openStreams({ host, port, isSecure: transport === 'syslog+tls' }, identity)
  const { hostname } = new URL(core.publicUrl)
  const source = { hostname, version, pid: process.pid }
  const formatter = (): ((entry: NumberedEntry) => string) => syslogFormatter(source, bodyOf)
  return {
    open: ({ over: signal }) =>
      syslogReceiver({ streams, clock, formatter, signal, onSent: metrics.sent }),
    close: async () => undefined,
  }
}

const authorizationOf = (token: string | undefined): string | undefined =>
  token === undefined || token.includes(' ') ? token : `Bearer ${token}`
