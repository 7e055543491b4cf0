/** The fix that activates webhooks deactivated because of failures, when their receivers respond again. */
import type { Finding, Fix } from '../../../platform/feature/fix.ts'
import type { Enable } from '../registrations/registrations.service.ts'
import { lockWebhook } from '../registrations/registrations.store.ts'
import * as store from './fixes.store.ts'

const subjectOf = (id: number) => `webhook ${id}`
const idOf = ({ subject }: Finding) => Number(subject.split(' ')[1])

export const disabledFix = (enable: Enable): Fix => ({
  key: 'webhooks.disabled',
  title: 'A webhook is deactivated although its receiver responds again',
  description:
    'The webhook was deactivated because its receiver failed for five days. The receiver now responds to test messages, which are sent at most every six hours. Events for the webhook are kept for a limited time but not sent.',
  severity: 'medium',
  automatic: false,
  plan: 'Activates the webhook. Its waiting messages are then sent, oldest first.',
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
