/** Deactivates a webhook whose receiver is gone or has failed for too long, and tells the admins. */
import type { Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { listAdmins } from '../../users/index.ts'
import { deactivate } from '../registrations/registrations.store.ts'
import { shownUrl } from '../registrations/shown-url.ts'
import type { DisableReason } from './circuit.ts'
import { disabledMail } from './mails.ts'

/**
 * Does nothing where the webhook is not active any more, or has another address by now.
 * @param since when its receiver began to fail, ISO 8601
 */
export type Disable = (
  webhook: { id: number; tenant_id: number; url: string },
  reason: DisableReason,
  since: string,
) => Promise<void>

export interface DisableDeps {
  db: Scopes
  mailer: Mailer
  /** How long deliveries are kept (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

export function disabler({ db, mailer, keepDays }: DisableDeps): Disable {
  return ({ id, tenant_id, url }, reason, since) =>
    db.inTenant(tenant_id, async (tx) => {
      // Somebody was quicker: another process, or an admin.
      if (!(await deactivate(tx, { id, url }, reason))) return
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
