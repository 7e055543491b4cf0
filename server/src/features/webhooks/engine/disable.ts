/** Deactivates a webhook whose receiver is gone or has failed for too long, and tells the admins. */
import type { Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { listAdmins } from '../../users/index.ts'
import { deactivate, type Failing } from '../registrations/registrations.store.ts'
import { shownUrl } from '../registrations/shown-url.ts'
import { disabledMail } from './mails.ts'

/** Does nothing where the webhook is not active any more, or has been well since. */
export type Disable = (webhook: Failing & { tenant_id: number }) => Promise<void>

export interface DisableDeps {
  db: Scopes
  mailer: Mailer
  /** How long deliveries are kept (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

export function disabler({ db, mailer, keepDays }: DisableDeps): Disable {
  return (webhook) =>
    db.inTenant(webhook.tenant_id, async (tx) => {
      // Somebody was quicker: another process, or an admin.
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
