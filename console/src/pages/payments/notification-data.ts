/** The requests of the page "Payment notifications". */
import { useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { useNow } from '../../parts/ago.tsx'
import { type ListOptions, type ListView, pageQuery } from '../../parts/list/list-search.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import { choiceParameter } from '../../parts/list/parameters.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { PROVIDERS, useIsOfAllClinics } from './data.ts'
import { reasonNames } from './notifications.texts.ts'
import { spanFilters, spanQuery } from './span.ts'

/** A notification of a payment provider as the API returns it, without its body. */
export type PaymentNotification = Schemas['PaymentNotification']

export const NOTIFICATION_STATES = [
  'received',
  'applied',
  'superseded',
  'ignored',
  'unverified',
  'failed',
] as const

export const REASONS = Object.keys(reasonNames) as (keyof typeof reasonNames)[]

const REFRESH_MS = 5_000

const filters = {
  provider: choiceParameter(PROVIDERS),
  state: choiceParameter(NOTIFICATION_STATES),
  reason: choiceParameter(REASONS),
  /** `all` shows a superadmin the notifications of every clinic, and those whose clinic is not verified. */
  of: choiceParameter(['all']),
  ...spanFilters,
}

/** The filters in the URL. */
export type NotificationParameters = typeof filters

/** The parameters and the default order of the list. */
export const notificationList: ListOptions<typeof filters> = {
  filters,
  sortable: ['received_at'],
  sort: { column: 'received_at', direction: 'desc' },
}

/** Loads a page of notifications. */
export function useNotifications(view: ListView<typeof filters>) {
  const clinicId = useClinicId()
  const { role } = usePersonHere()
  const isOfAll = useIsOfAllClinics()
  const { provider, state, reason, of } = view.filters
  const isWide = isOfAll || (role === 'superadmin' && of === 'all')
  const query = {
    ...(!isWide && { tenant_id: clinicId }),
    ...spanQuery(view.filters, useNow()),
    ...(provider && { provider }),
    ...(state && { state }),
    ...(reason && { reason }),
    sort_by: 'received_at' as const,
    sort_order: view.sort.direction,
    ...pageQuery(view),
  }
  return useListPage(
    'payment-notifications',
    clinicId,
    query,
    () => take(api.GET('/api/admin/payment-notifications', { params: { query } })),
    // The service processes notifications in the background.
    REFRESH_MS,
  )
}

/** Loads the body of a notification, which the service records in the audit log. */
export async function loadBody(notification_id: number): Promise<string> {
  const params = { path: { notification_id } }
  const path = '/api/admin/payment-notifications/{notification_id}'
  return (await take(api.GET(path, { params }))).body
}

/** Returns the commands on notifications. Each command reloads the lists that it affects. */
export function useNotificationCommands() {
  const queries = useQueryClient()
  const reload = () => {
    for (const name of ['payment-notifications', 'payments', 'payment-stats'])
      void queries.invalidateQueries({ queryKey: [name] })
  }
  return {
    async process(notification_id: number): Promise<PaymentNotification> {
      const params = { path: { notification_id } }
      const path = '/api/admin/payment-notifications/{notification_id}/process'
      const after = await take(api.POST(path, { params }))
      reload()
      return after
    },
    async discard(): Promise<number> {
      const path = '/api/admin/payment-notifications/discard'
      const { discarded } = await take(api.POST(path, { body: {} }))
      reload()
      return discarded
    },
  }
}
