/** The steps of the walk through webhooks and payments. */
import { cardnetNotice, cardnetSignature } from '../support/payments.ts'
import { until } from '../support/until.ts'
import type { Scene } from './walk-scene.ts'

export async function walkWebhooks({ clinic, take }: Scene): Promise<void> {
  const { token } = clinic.people.admin
  // Nothing listens at this address. The walk also accepts the answer about a failed delivery.
  const fill = { url: 'http://127.0.0.1:9/hook' }
  const made = await take('POST /api/webhooks/register', { token, fill })
  const path = { webhook_id: made.body.id }
  await take('GET /api/webhooks', { token })
  await take('GET /api/webhooks/events', { token })
  await take('GET /api/webhooks/stats', { token })
  await take('GET /api/webhooks/{webhook_id}', { token, path })
  const change = { secret: 'raw-secret-of-a-receiver' }
  await take('PUT /api/webhooks/{webhook_id}', { token, path, fill: change })
  await take('POST /api/webhooks/{webhook_id}/test', { token, path })
  const list = 'GET /api/webhooks/{webhook_id}/deliveries'
  const { items } = (await take(list, { token, path })).body
  const tried = items.find(({ event }: { event: string }) => event === 'webhook.test')
  const delivery = '/api/webhooks/{webhook_id}/deliveries/{delivery_id}'
  const ofDelivery = { ...path, delivery_id: tried.id }
  await take(`GET ${delivery}`, { token, path: ofDelivery })
  await take(`POST ${delivery}/retry`, { token, path: ofDelivery })
  const since = new Date().toISOString().slice(0, 10)
  await take('GET /api/webhooks/{webhook_id}/replay', { token, path, query: { since } })
  const replayed = await take('POST /api/webhooks/{webhook_id}/replay', {
    token,
    path,
    fill: { since },
  })
  await take('GET /api/webhooks/{webhook_id}/replays', { token, path })
  const ofReplay = { ...path, replay_id: replayed.body.id }
  const replay = '/api/webhooks/{webhook_id}/replays/{replay_id}'
  await take(`GET ${replay}`, { token, path: ofReplay })
  await take(`DELETE ${replay}`, { token, path: ofReplay })
  await take('DELETE /api/webhooks/{webhook_id}/secrets/previous', { token, path })
  await take('DELETE /api/webhooks/{webhook_id}', { token, path })
}

export async function walkPayments({ service, root, clinic, take }: Scene): Promise<void> {
  const { token } = clinic.people.admin
  const [paid, unpaid] = [`${clinic.subdomain}-paid`, `${clinic.subdomain}-unpaid`]
  const send = (type: string, id: string, object: object = {}) => {
    const about = { id, metadata: { tenant_id: clinic.id }, ...object }
    const notice = cardnetNotice(type, about)
    // Only the first notification is a step of the walk. The others create the remaining events.
    if (type === 'created' && id === paid)
      return take('POST /webhooks/cardnet', { fill: notice, sign: signed })
    const payload = JSON.stringify(notice)
    return service.call('POST', '/webhooks/cardnet', { payload, headers: signed(payload) })
  }
  for (const type of ['created', 'succeeded', 'refunded'])
    await send(type, paid, { amount_refunded: 250 })
  for (const type of ['created', 'failed', 'canceled']) await send(type, unpaid)
  await send('succeeded', unpaid, { metadata: { tenant_id: 'none' } })
  const object = { id: unpaid, status: 'succeeded' }
  await take('POST /webhooks/paygate', { fill: { object } })
  const list = '/api/admin/payment-notifications'
  const [failed] = await until('the notifications are worked off', async () => {
    const all = await service.call('GET', list, { token: root.token, query: { state: 'received' } })
    if (all.body.total > 0) return undefined
    const found = await service.call('GET', list, { token: root.token, query: { state: 'failed' } })
    return found.body.total > 0 ? found.body.items : undefined
  })
  await take(`GET ${list}`, { token })
  const ofFailed = { token: root.token, path: { notification_id: failed.id } }
  await take(`GET ${list}/{notification_id}`, ofFailed)
  await take(`POST ${list}/{notification_id}/process`, ofFailed)
  await take(`POST ${list}/discard`, { token: root.token })
  const { items } = (await take('GET /api/admin/payments', { token })).body
  await take('GET /api/admin/payments/stats', { token })
  await take('GET /api/admin/payments/{payment_id}', { token, path: { payment_id: items[0].id } })
}

const signed = (payload: string) => ({ 'cardnet-signature': cardnetSignature(payload) })
