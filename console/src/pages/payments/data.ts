/** The requests of the pages about payments. */
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { useNow } from '../../parts/ago.tsx'
import { type ListOptions, type ListView, pageQuery } from '../../parts/list/list-search.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import { choiceParameter, textParameter } from '../../parts/list/parameters.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { spanFilters, spanQuery } from './span.ts'

/** A payment as the API returns it. */
export type Payment = Schemas['Payment']
/** The figures of payments, and the configured providers. */
export type PaymentStats = Schemas['PaymentStats']
/** The figures of a clinic's payments through a provider. */
export type ProviderFigures = Schemas['ProviderFigures']

export const PROVIDERS = ['cardnet', 'paygate'] as const
export const PAYMENT_STATUSES = [
  'pending',
  'authorized',
  'failed',
  'canceled',
  'succeeded',
  'partially_refunded',
  'refunded',
] as const

const MAX_ID_LENGTH = 255

const filters = {
  search: textParameter(MAX_ID_LENGTH),
  provider: choiceParameter(PROVIDERS),
  status: choiceParameter(PAYMENT_STATUSES),
  ...spanFilters,
}

/** The filters in the URL. */
export type PaymentParameters = typeof filters

/** The parameters and the default order of the list. */
export const paymentList: ListOptions<typeof filters> = {
  filters,
  sortable: ['created_at'],
  sort: { column: 'created_at', direction: 'desc' },
}

/** True for a superadmin on the pages of the platform, which show the payments of all clinics. */
export function useIsOfAllClinics(): boolean {
  const { role, tenant_id } = usePersonHere()
  return useClinicId() === tenant_id && role === 'superadmin'
}

/** Loads a page of the payments of a clinic, or of all clinics on the pages of the platform. */
export function usePayments(view: ListView<typeof filters>) {
  const clinicId = useClinicId()
  const isOfAll = useIsOfAllClinics()
  const { search, provider, status } = view.filters
  const query = {
    ...(!isOfAll && { tenant_id: clinicId }),
    ...spanQuery(view.filters, useNow()),
    ...(provider && { provider }),
    ...(status && { status }),
    ...(search && { provider_payment_id: search }),
    sort_by: 'created_at' as const,
    sort_order: view.sort.direction,
    ...pageQuery(view),
  }
  return useListPage('payments', clinicId, query, () =>
    take(api.GET('/api/admin/payments', { params: { query } })),
  )
}

/** Loads the figures by provider, of the same clinics as the list. */
export function usePaymentStats(view: ListView<typeof filters>) {
  const clinicId = useClinicId()
  const isOfAll = useIsOfAllClinics()
  const query = { ...(!isOfAll && { tenant_id: clinicId }), ...spanQuery(view.filters, useNow()) }
  return useQuery({
    queryKey: ['payment-stats', clinicId, query],
    queryFn: () => take(api.GET('/api/admin/payments/stats', { params: { query } })),
    placeholderData: (previous) => previous,
  })
}

/** Loads a payment with its notifications. */
export function usePayment(id: number) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['payments', clinicId, 'one', id],
    queryFn: () =>
      take(api.GET('/api/admin/payments/{payment_id}', { params: { path: { payment_id: id } } })),
  })
}
