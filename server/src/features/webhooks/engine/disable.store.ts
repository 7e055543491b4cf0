/** Deactivates a webhook by the service's own decision. */
import type { TenantTx } from '../../../platform/db/index.ts'
import type { DisableReason } from './circuit.ts'
import '../webhooks.table.ts'

/**
 * Returns whether this changed anything. What the receiver at `url` has answered says nothing about
 * one at another address, which the webhook may have been given meanwhile.
 */
export async function deactivate(
  tx: TenantTx,
  webhook: { id: number; url: string },
  reason: DisableReason,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('webhooks')
    .set({ is_active: false, disabled_reason: reason })
    .where('id', '=', webhook.id)
    .where('url', '=', webhook.url)
    .where('is_active', '=', true)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
