/** The requests of the pages about webhooks. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { pageQuery } from '../../parts/list/list-search.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import type { OptionsRequest } from '../../parts/search-combobox.tsx'
import { boundsOf, type TimeRangeValue } from '../../parts/time-ranges.ts'
import { usePersonHere } from '../../shell/person.ts'
import { type DeliveryView, deliveryQuery } from './filters.ts'

/** A webhook as the list returns it. */
export type Webhook = Schemas['Webhook']
/** A webhook with its figures. */
export type WebhookDetails = Schemas['WebhookDetails']
export type WebhookStats = Schemas['WebhookStats']
export type Delivery = Schemas['WebhookDelivery']
export type DeliveryDetails = Schemas['WebhookDeliveryDetails']
export type Attempt = Schemas['WebhookAttempt']
export type WebhookReplay = Schemas['WebhookReplay']
export type WebhookEvent = Schemas['EventDescription']

const REFRESH_MS = 10_000
const FOLLOW_MS = 3_000

/** Loads the webhooks of the user's own clinic. */
export function useWebhooks(clinicId: number) {
  const { tenant_id } = usePersonHere()
  return useQuery({
    queryKey: ['webhooks', clinicId, 'all'],
    queryFn: () => take(api.GET('/api/webhooks')),
    enabled: clinicId === tenant_id,
    refetchInterval: REFRESH_MS,
  })
}

const at = (webhook_id: number) => ({ params: { path: { webhook_id } } })

/** Loads the deliveries of the last 24 hours of each webhook. */
export function useWebhookStats(clinicId: number) {
  return useQuery({
    queryKey: ['webhooks', clinicId, 'stats'],
    queryFn: () => take(api.GET('/api/webhooks/stats')),
    refetchInterval: 2 * REFRESH_MS,
  })
}

/** Loads one webhook with its figures. */
export function useWebhook(clinicId: number, id: number) {
  return useQuery({
    queryKey: ['webhooks', clinicId, 'one', id],
    queryFn: () => take(api.GET('/api/webhooks/{webhook_id}', at(id))),
    refetchInterval: ({ state: { data } }) =>
      data && isSending(data) && data.waiting > 0 ? FOLLOW_MS : REFRESH_MS,
  })
}

/** True while the service sends waiting messages. A failing receiver gets none between two attempts. */
const isSending = ({ is_active, failing_since }: WebhookDetails): boolean =>
  is_active && failing_since === null

/** Loads a page of the deliveries of a webhook. Follows waiting deliveries while they are being sent. */
export function useDeliveries(clinicId: number, webhook: WebhookDetails, view: DeliveryView) {
  const { id } = webhook
  const query = { ...deliveryQuery(view, new Date()), ...pageQuery(view) }
  const { path } = at(id).params
  return useListPage(
    'webhooks',
    clinicId,
    { ...query, webhook: id },
    () => take(api.GET('/api/webhooks/{webhook_id}/deliveries', { params: { path, query } })),
    (page) =>
      isSending(webhook) && page?.items.some(({ status }) => status === 'pending')
        ? FOLLOW_MS
        : REFRESH_MS,
  )
}

/** Loads one delivery with its request and its attempts. */
export function useDelivery(clinicId: number, webhook_id: number, delivery_id: number) {
  return useQuery({
    queryKey: ['webhooks', clinicId, 'delivery', webhook_id, delivery_id],
    queryFn: () =>
      take(
        api.GET('/api/webhooks/{webhook_id}/deliveries/{delivery_id}', {
          params: { path: { webhook_id, delivery_id } },
        }),
      ),
    refetchInterval: ({ state: { data } }) => (data?.status === 'pending' ? FOLLOW_MS : REFRESH_MS),
  })
}

/** Loads the latest replays of a webhook. Follows them while they have waiting deliveries. */
export function useReplays(clinicId: number, id: number) {
  return useQuery({
    queryKey: ['webhooks', clinicId, 'replays', id],
    queryFn: () => take(api.GET('/api/webhooks/{webhook_id}/replays', at(id))),
    refetchInterval: ({ state: { data } }) => (data?.some(isGoing) ? FOLLOW_MS : REFRESH_MS),
  })
}

/** True while a replay queues events, or its deliveries wait. */
export const isGoing = ({ state, waiting }: WebhookReplay): boolean =>
  state === 'running' || (state === 'completed' && waiting > 0)

/** Loads the events that a webhook can subscribe to. */
export function useWebhookEvents() {
  return useQuery({
    queryKey: ['webhook-events'],
    queryFn: () => take(api.GET('/api/webhooks/events')),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

const MAX_FOUND = 20

/** Returns the request for the events whose name contains a text. */
export const eventsRequest = (text: string): OptionsRequest => ({
  queryKey: ['webhook-events', 'options', text],
  queryFn: async () => {
    const events = await take(api.GET('/api/webhooks/events'))
    return events
      .filter(({ name }) => name.includes(text.trim().toLowerCase()))
      .slice(0, MAX_FOUND)
      .map(({ name }) => ({ value: name, label: name }))
  },
})

/** The period of a replay, and whether it queues only failed deliveries. */
export interface ReplayOrder {
  readonly range: TimeRangeValue
  readonly only_failed: boolean
}

/** Counts the messages that a replay would send. */
export function useReplayCount(id: number, order: ReplayOrder, now: Date) {
  const query = spanOf(order, now)
  return useQuery({
    queryKey: ['webhook-replay-count', id, query],
    queryFn: () =>
      take(
        api.GET('/api/webhooks/{webhook_id}/replay', {
          params: { path: { webhook_id: id }, query },
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
}

function spanOf({ range, only_failed }: ReplayOrder, now: Date) {
  const { from, to } = boundsOf(range, now)
  return { since: from, ...(!('range' in range) && { until: to }), only_failed }
}

/** Returns a body with the names of events as the client types them. The service checks the names. */
const withNames = <Body extends { events?: readonly string[] }>({ events, ...body }: Body) => ({
  ...body,
  ...(events && { events: [...events] as '*'[] }),
})

/** Returns the commands on the webhooks of the user's clinic. Each command reloads the data that it affects. */
export function useWebhookCommands(clinicId: number) {
  const queries = useQueryClient()
  const reload = () => {
    for (const name of ['webhooks', 'audit', 'overview'])
      void queries.invalidateQueries({ queryKey: [name, clinicId] })
  }
  const done = async <Data>(sent: Promise<Data>): Promise<Data> => {
    const data = await sent
    reload()
    return data
  }
  return {
    add: (body: { url: string; events: readonly string[]; secret?: string }) =>
      done(
        take(
          api.POST('/api/webhooks/register', {
            body: { ...body, events: [...body.events] as '*'[] },
          }),
        ),
      ),
    change: (
      id: number,
      body: { url?: string; events?: readonly string[]; is_active?: boolean; secret?: string },
    ) => done(take(api.PUT('/api/webhooks/{webhook_id}', { ...at(id), body: withNames(body) }))),
    test: (id: number) => done(take(api.POST('/api/webhooks/{webhook_id}/test', at(id)))),
    retry: (webhook_id: number, delivery_id: number) =>
      done(
        take(
          api.POST('/api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry', {
            params: { path: { webhook_id, delivery_id } },
          }),
        ),
      ),
    replay: (id: number, order: ReplayOrder, now: Date) =>
      done(
        take(
          api.POST('/api/webhooks/{webhook_id}/replay', { ...at(id), body: spanOf(order, now) }),
        ),
      ),
    cancelReplay: (webhook_id: number, replay_id: number) =>
      done(
        take(
          api.DELETE('/api/webhooks/{webhook_id}/replays/{replay_id}', {
            params: { path: { webhook_id, replay_id } },
          }),
        ),
      ),
    withdraw: (id: number) =>
      done(take(api.DELETE('/api/webhooks/{webhook_id}/secrets/previous', at(id)))),
    async remove(id: number): Promise<void> {
      await take(api.DELETE('/api/webhooks/{webhook_id}', at(id)))
      queries.removeQueries({ queryKey: ['webhooks', clinicId, 'one', id] })
      void queries.invalidateQueries({ queryKey: ['webhooks', clinicId, 'all'] })
      void queries.invalidateQueries({ queryKey: ['audit', clinicId] })
    },
    reload,
  }
}
