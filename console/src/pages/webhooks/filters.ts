/** The filters of the deliveries of a webhook, as parameters of the URL and as the API accepts them. */
import type { ListOptions, ListView } from '../../parts/list/list-search.ts'
import { checkedParameter, choiceParameter } from '../../parts/list/parameters.ts'
import {
  boundsOf,
  parseTimeRange,
  RECENT_RANGES,
  type RecentRange,
  type TimeRangeValue,
} from '../../parts/time-ranges.ts'

export const DELIVERY_STATES = ['delivered', 'failed', 'pending', 'held'] as const
export const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

const MINUTE_MS = 60_000
const MAX_NAME_LENGTH = 64
const MAX_TIME_LENGTH = 40

const timeParameter = checkedParameter(
  MAX_TIME_LENGTH,
  (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
)

const filters = {
  status: choiceParameter(DELIVERY_STATES),
  event: checkedParameter(MAX_NAME_LENGTH, (text) => /^[a-z_]+\.[a-z_]+$/.test(text)),
  class: choiceParameter(STATUS_CLASSES),
  message: checkedParameter(MAX_NAME_LENGTH, (text) => /^msg_[0-9a-z]+_[0-9a-z]+$/.test(text)),
  range: choiceParameter(Object.keys(RECENT_RANGES) as RecentRange[]),
  from: timeParameter,
  to: timeParameter,
}

/** The filters in the URL. */
export type DeliveryParameters = typeof filters
export type DeliveryView = ListView<DeliveryParameters>

/** The parameters of the list in the URL. */
export const deliveryList: ListOptions<DeliveryParameters> = {
  filters,
  sortable: [],
  sort: { column: 'id', direction: 'desc' },
}

/** Returns the chosen period. Undefined means all times. */
export function deliveryRange({ range, from, to }: DeliveryView['filters']) {
  if (from !== undefined && to !== undefined && Date.parse(from) <= Date.parse(to))
    return { from, to }
  return range && parseTimeRange({ range }, range)
}

/** Returns the parameters of the URL for a period. */
export const rangeParameters = (value: TimeRangeValue | undefined) =>
  value === undefined || 'range' in value
    ? { range: value?.range, from: undefined, to: undefined }
    : { range: undefined, from: value.from, to: value.to }

/** Returns the filters as the API accepts them. A recent period starts at a whole minute, so that the query is stable. */
export function deliveryQuery({ filters: chosen }: DeliveryView, now: Date) {
  const range = deliveryRange(chosen)
  const { status, event, class: status_class, message } = chosen
  const minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS)
  const bounds = range && boundsOf(range, minute)
  return {
    ...(status && { status }),
    ...(event && { event: event as 'user.created' }),
    ...(status_class && { status_class }),
    ...(message && { message_id: message }),
    ...(bounds && { from_date: bounds.from }),
    ...(range && !('range' in range) && { to_date: range.to }),
  }
}
