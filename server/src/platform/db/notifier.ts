/** Sends topics to the other nodes with NOTIFY, which is faster than their next heartbeat. */
import type pg from 'pg'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { withDeadline } from './deadline.ts'
import { TRUST_MS } from './heartbeat.ts'
import { logFailures } from './log-failures.ts'

export const CHANNEL = 'wardkeep_changes'

/** The minimum time between two NOTIFYs of this node. Topics that arrive in between are sent together. */
const APART_MS = 5

/** Opens a notifier on the listener's connection. Topics that could not be sent are sent after a reconnect. */
export function openNotifier(listener: () => pg.Client | undefined, log: Logger, clock: Time) {
  const unsent = new Set<string>()

  /**
   * Sends all unsent topics in one NOTIFY, in its own transaction. PostgreSQL commits NOTIFYs one at a time, under a
   * lock for the whole server and while waiting for the disk and a standby. Requests must not wait for that lock.
   */
  async function sendTopics(): Promise<boolean> {
    const client = listener()
    // Topics wait until there is a listener to send them.
    if (!client || unsent.size === 0) return false
    const topics = [...unsent]
    unsent.clear()
    const sent = client.query(
      'select pg_notify($1, topic) from unnest($2::text[]) as topics (topic)',
      [CHANNEL, topics],
    )
    try {
      await withDeadline(sent, TRUST_MS)
    } catch (error) {
      // The NOTIFY may or may not have been sent. It is harmless to send the topics twice.
      for (const topic of topics) unsent.add(topic)
      throw error
    }
    return false
  }

  const sends = poller(sendTopics, {
    clock,
    pollMs: Number.POSITIVE_INFINITY,
    minGapMs: APART_MS,
    onError: logFailures('notification of other nodes', log),
  })
  const wake = () => {
    if (unsent.size > 0) sends.wake()
  }
  return {
    send(topic: string) {
      unsent.add(topic)
      sends.wake()
    },
    wake,
    async stop() {
      await sends.stop()
      await canFail(sendTopics(), 'notification of other nodes', log)
    },
  }
}
