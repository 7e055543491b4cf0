/** A delivery process on the scene's database, with its log and mails. */
import { onTestFinished } from 'vitest'
import { startDeliveryWorker } from '../../src/features/webhooks/delivery-worker.ts'
import type { Tuning } from '../../src/features/webhooks/engine/tuning.ts'
import { type SendMessage, sender } from '../../src/features/webhooks/sending/attempt.ts'
import { type KeyRing, openKeyRing } from '../../src/platform/crypto/index.ts'
import {
  type Changes,
  type DatabaseAddress,
  openScopes,
  type Scopes,
  watchChanges,
} from '../../src/platform/db/index.ts'
import type { Mailer, MailMessage } from '../../src/platform/mail/index.ts'
import { openOutbound, parseNetworks } from '../../src/platform/net/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { until } from '../support/until.ts'
import type { Scene } from './scene.ts'

export interface DeliveryNode {
  db: Scopes
  changes: Changes
  /** Every mail of a committed transaction. */
  mails: MailMessage[]
  /** Every logged line, as `[level, fields, message]`. */
  logged: [string, Record<string, any>, string][]
  /** Returns the whole log as text, with all properties of errors. */
  logText(): string
  /** Stops in the same way as the service. Messages in flight are aborted after `patienceMs`. */
  stop(patienceMs?: number): Promise<void>
}

export interface NodeOptions {
  /** Replaces HTTP requests. */
  send?: SendMessage
  tuning?: Partial<Tuning>
  /** Connects to the database at another address. */
  address?: DatabaseAddress
  /** Wraps the database for the engine. */
  db?: (db: Scopes) => Scopes
  /** Wraps the keys for the engine. */
  keyRing?: (ring: KeyRing) => KeyRing
}

/** Polls often, releases idle queues early, and has enough time to shut down. */
const TUNING: Partial<Tuning> = { pollMs: 100, idleTimeoutMs: 200, flushTimeoutMs: 20_000 }

/** Starts a delivery process, which finds earlier events at once. The process stops at the end of the test. */
export async function startNode(scene: Scene, options: NodeOptions = {}): Promise<DeliveryNode> {
  await scene.untilReadable()
  const { clock, database, root } = scene
  const address = options.address ?? database.address
  const { log, logged } = recordedLog()
  const changes = watchChanges(address, log, clock)
  const db = openScopes(address, { clock, size: 4, changes, log })
  const ring = await openKeyRing(db, root, changes)
  const mails: MailMessage[] = []
  const mailer: Mailer = {
    isConfigured: true,
    send: async (tx, mail) => tx.afterCommit(() => void mails.push(mail)),
  }
  const policy = { allowHttp: true, allowedNetworks: parseNetworks('127.0.0.0/8') }
  const outbound = openOutbound({ clock, policy })
  const delivery = startDeliveryWorker({
    db: options.db?.(db) ?? db,
    changes,
    clock,
    log,
    mailer,
    keepDays: 30,
    keyRing: options.keyRing?.(ring) ?? ring,
    send: options.send ?? sender({ outbound, clock, version: '0.0.0' }),
    tuning: { ...TUNING, ...options.tuning },
  })
  let isOpen = true
  const stop = async (patienceMs = 0) => {
    if (!isOpen) return
    isOpen = false
    await delivery.stop(patienceMs)
    await outbound.close()
    await changes.stop()
    await db.close()
  }
  onTestFinished(() => stop())
  await until('the node hears the others', () => changes.trusted() || undefined)
  const logText = () => JSON.stringify(logged, withErrors)
  return { db, changes, mails, logged, logText, stop }
}

function recordedLog(): { log: Logger; logged: DeliveryNode['logged'] } {
  const logged: DeliveryNode['logged'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push([level, fields, message])
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { log: log as Logger, logged }
}

/** Converts errors as the log does, including their causes. Omits the row data that the driver quotes. */
function withErrors(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { name, message, stack, cause }
}
