/** What can be wrong with webhooks, and what is done about it. */
import { type Clock, isoAt, MINUTE } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Finding, Fix } from '../../../platform/fix.ts'
import { scheduleQueue } from '../engine/queues.store.ts'
import { notifyDue } from '../engine/topics.ts'
import type { Enable } from '../registrations/registrations.service.ts'
import { lockWebhook } from '../registrations/registrations.store.ts'
import * as store from './fixes.store.ts'

/** However busy: a queue is leased within seconds of its time, as long as anybody is at work. */
const LATE_MS = 10 * MINUTE
/** Queues in one look. */
const SLICE = 2000

export interface WebhookFixesDeps {
  clock: Clock
  enable: Enable
  /** Whether messages wait, as in a restored copy. */
  waits: () => boolean
}

export const webhookFixes = (deps: WebhookFixesDeps): readonly Fix[] => [
  disabled(deps),
  outOfStep(deps),
  unclaimed(deps),
]

const subjectOf = (id: number) => `webhook ${id}`
const idOf = ({ subject }: Finding) => Number(subject.split(' ')[1])

const disabled = ({ enable }: WebhookFixesDeps): Fix => ({
  key: 'webhooks.disabled',
  title: 'A webhook is deactivated, although its receiver answers again',
  description:
    'The receiver failed for five days, so the webhook was deactivated. Asked with a test message, every six hours at the most, it answers now. Events for it are kept until they are too old, and not sent.',
  severity: 'medium',
  automatic: false,
  plan: 'Activates the webhook, as its admin could: what waits for it is sent, the oldest first.',
  runbook: 'before-confirming.md',
  async detect(tx) {
    const all = await store.listDisabled(tx)
    const findings = all.flatMap(({ id, tenant_id, failing_since, answered_at }) =>
      answered_at === null
        ? []
        : {
            tenant_id,
            subject: subjectOf(id),
            measured: { is_active: false, failing_since, answered_at },
            expected: { is_active: true },
            since: answered_at,
          },
    )
    return { findings, looked_at: all.length }
  },
  repair: (finding, repairing) =>
    repairing(async (tx) => {
      const webhook = await lockWebhook(tx, idOf(finding))
      if (!webhook || !(await store.answersAgain(tx, webhook.id))) return 'already gone'
      await enable(tx, webhook)
      return 'repaired'
    }),
})

function outOfStep({ clock }: WebhookFixesDeps): Fix {
  const find = (tx: TenantTx, which: store.Which) =>
    store.listIdle(tx, which, { now: isoAt(clock), late: isoAt(clock, -LATE_MS) })
  return {
    key: 'webhooks.stuck',
    title: 'Deliveries of a webhook are due, and its queue is not',
    description:
      'Processes look for queues that are due, and send what waits in them. Deliveries of this webhook have been due for minutes, but its queue says that nothing is: they wait for the next event.',
    severity: 'medium',
    automatic: true,
    plan: 'Makes the queue due now, so that the next process that looks sends what waits.',
    async detect(tx, from) {
      const lines = await find(tx, { after: Number(from ?? 0), limit: SLICE })
      const last = lines.length === SLICE ? lines.at(-1) : undefined
      return {
        findings: lines.flatMap(stuckFinding),
        looked_at: lines.length,
        ...(last ? { next: String(last.webhook_id) } : {}),
      }
    },
    async recheck(tx, findings) {
      return (await find(tx, { ids: findings.map(idOf) })).flatMap(stuckFinding)
    },
    repair: (finding, repairing) =>
      repairing(async (tx) => {
        const id = idOf(finding)
        await store.lockLine(tx, id)
        const [line] = await find(tx, { ids: [id] })
        if (!line?.waiting_since) return 'already gone'
        await scheduleQueue(tx, id, isoAt(clock))
        notifyDue(tx, [id])
        return 'repaired'
      }),
  }
}

const stuckFinding = ({ webhook_id, tenant_id, due_at, waiting_since }: store.Line): Finding[] =>
  waiting_since === null
    ? []
    : [
        {
          tenant_id,
          subject: subjectOf(webhook_id),
          measured: { queue_due_at: due_at, delivery_due_at: waiting_since },
          expected: { queue_due_at: waiting_since },
          since: waiting_since,
        },
      ]

const unclaimed = ({ clock, waits }: WebhookFixesDeps): Fix => ({
  key: 'webhooks.unclaimed',
  title: 'Nobody sends the messages of webhooks',
  description:
    'Queues of webhooks have been due for minutes, and no process has leased any of them: every process has the role api, or those that do the background work hang. What waits is not lost.',
  severity: 'high',
  automatic: false,
  plan: 'Nothing is done: start a process with the role worker or all, or start those again that should be at work.',
  runbook: 'journal-readers.md',
  async detect(tx) {
    if (waits()) return { findings: [], looked_at: 0 }
    const { lines, since, all } = await store.countUnclaimed(tx, isoAt(clock, -LATE_MS))
    const finding = {
      tenant_id: null,
      subject: 'queues of webhooks',
      measured: { due: lines, leased: 0 },
      expected: { due_for_at_most_s: LATE_MS / 1000 },
      ...(since === null ? {} : { since }),
    }
    return { findings: lines > 0 ? [finding] : [], looked_at: all }
  },
})
