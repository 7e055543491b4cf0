/** Deactivates a webhook whose receiver is gone or has failed for too long, and notifies the administrators. */
import type { Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { listAdmins } from '../../users/index.ts'
import { shownUrl } from '../registrations/input.ts'
import { deactivate, type Failing } from '../registrations/registrations.store.ts'
import { disabledMail } from './mails.ts'

/** Deactivates a webhook. Does nothing if the webhook is no longer active, or its receiver has recovered. */
export type Disable = (webhook: Failing & { tenant_id: number }) => Promise<void>

export interface DisableDeps {
  db: Scopes
  mailer: Mailer
  /** The number of days for which deliveries are stored (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

export function disabler({ db, mailer, keepDays }: DisableDeps): Disable {
  return (webhook) =>
    db.inTenant(webhook.tenant_id, async (tx) => {
      // Another process or an administrator has changed the webhook in the meantime.
      if (!(await deactivate(tx, webhook))) return
      const { id, tenant_id, url, reason, since } = webhook
      tx.invalidate(`webhook:${id}`)
      await append(tx, SYSTEM, {
        action: 'webhook.disabled',
        tenant_id,
        resource_type: 'webhook',
        resource_id: id,
        changes: { url: shownUrl(url), reason, failing_since: since },
      })
      for (const { email, full_name } of await listAdmins(tx))
        await mailer.send(tx, {
          to: email,
          ...disabledMail({ name: full_name, id, url: shownUrl(url), reason, since, keepDays }),
        })
    })
}
