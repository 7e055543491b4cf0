/** The filters of the audit log, as parameters of the URL and as the API accepts them. */
import * as v from 'valibot'
import type { ListOptions, ListView } from '../../parts/list/list-search.ts'
import {
  checkedParameter,
  choiceParameter,
  idParameter,
  textsParameter,
} from '../../parts/list/parameters.ts'
import { RECENT_RANGES, type RecentRange, type TimeRangeValue } from '../../parts/time-ranges.ts'
import type { AuditAction } from './action-meanings.ts'

/** The maximum number of actions in one request. */
export const MAX_ACTIONS = 50
const MAX_NAME_LENGTH = 100
const MAX_ID_LENGTH = 200
const MAX_ADDRESS_LENGTH = 45
const MAX_TIME_LENGTH = 40

const REQUEST_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const timeParameter = checkedParameter(MAX_TIME_LENGTH, isTime)

/** The time of the open entry. It helps to find the entry after later entries have pushed it off the page. */
export const openedParameter = { opened: timeParameter }

const filters = {
  action: textsParameter(MAX_NAME_LENGTH, MAX_ACTIONS),
  group: textsParameter(MAX_NAME_LENGTH, MAX_ACTIONS),
  user_id: idParameter,
  about_user: idParameter,
  resource_type: checkedParameter(MAX_NAME_LENGTH, isPlainText),
  resource_id: checkedParameter(MAX_ID_LENGTH, isPlainText),
  request_id: checkedParameter(36, (text) => REQUEST_ID.test(text)),
  ip: checkedParameter(MAX_ADDRESS_LENGTH, isAddress),
  range: choiceParameter(['all', ...(Object.keys(RECENT_RANGES) as RecentRange[])]),
  from: timeParameter,
  to: timeParameter,
  /** The end of the time range. Only pages after the first one have this parameter. */
  at: timeParameter,
}

/** The filters in the URL. */
export type AuditParameters = typeof filters

/** Defines the list of the audit log with its parameters in the URL. */
export const auditList = {
  filters,
  sortable: ['created_at'],
  sort: { column: 'created_at', direction: 'desc' },
} as const satisfies ListOptions<AuditParameters>

/** The state of the list of the audit log. */
export type AuditView = ListView<AuditParameters>
export type AuditFilters = AuditView['filters']

/** The range if the URL contains none. */
const DEFAULT_RANGE = '24h'

/** Returns the time range. Undefined means all times, which links to all entries of a record or request use. */
export function timeRangeOf(filters: AuditFilters): TimeRangeValue | undefined {
  const { from, to, range } = filters
  if (from !== undefined && to !== undefined && Date.parse(from) <= Date.parse(to))
    return { from, to }
  if (range !== undefined) return range === 'all' ? undefined : { range }
  const { request_id, about_user } = filters
  const isLinked =
    request_id !== undefined || about_user !== undefined || recordFilter(filters).resource_id
  return isLinked ? undefined : { range: DEFAULT_RANGE }
}

/** Returns the parameters of the URL for a range of time. */
export const rangeParameters = (value: TimeRangeValue | undefined) =>
  value === undefined || 'range' in value
    ? { range: value?.range ?? 'all', from: undefined, to: undefined }
    : { range: undefined, from: value.from, to: value.to }

/** Returns the filter for a record. It contains the type, because an id is ambiguous without it. */
export const recordFilter = ({
  resource_type,
  resource_id,
}: AuditFilters): Pick<AuditFilters, 'resource_type' | 'resource_id'> =>
  resource_type === undefined
    ? {}
    : { resource_type, ...(resource_id !== undefined && { resource_id }) }

/** The chosen actions and groups that exist. */
export interface ChosenActions {
  readonly action: readonly string[]
  readonly group: readonly AuditAction['group'][]
}

/** Returns the chosen actions and groups. Omits unknown ones. */
export function chosenActions(
  { action = [], group = [] }: AuditFilters,
  known: readonly AuditAction[],
): ChosenActions {
  const groups = new Set(known.map((one) => one.group))
  return {
    action: known.map((one) => one.action).filter((name) => action.includes(name)),
    group: [...groups].filter((name) => group.includes(name)),
  }
}

/** True if the filters contain actions or groups. Only the API knows which of them are valid. */
export const namesActions = ({ action, group }: AuditFilters): boolean =>
  action !== undefined || group !== undefined

/** The start and the end of a time range, as the API accepts them. */
export interface AuditSpan {
  readonly from_date?: string
  readonly to_date?: string
}

/** The filters as the API accepts them. */
export interface AuditQuery extends AuditSpan {
  readonly tenant_id: number
  readonly action?: string[]
  readonly group?: AuditAction['group'][]
  readonly user_id?: number
  readonly about_user?: number
  readonly resource_type?: string
  readonly resource_id?: string
  readonly request_id?: string
  readonly ip?: string
}

/** Returns the filters for the API. */
export function auditQuery(
  tenant_id: number,
  filters: AuditFilters,
  span: AuditSpan,
  known: readonly AuditAction[],
): AuditQuery {
  const { user_id, about_user, request_id, ip } = filters
  const { action, group } = chosenActions(filters, known)
  return {
    tenant_id,
    ...span,
    ...recordFilter(filters),
    ...(action.length > 0 && { action: [...action] }),
    ...(group.length > 0 && { group: [...group] }),
    ...(user_id !== undefined && { user_id }),
    ...(about_user !== undefined && { about_user }),
    ...(request_id !== undefined && { request_id }),
    ...(ip !== undefined && { ip }),
  }
}

/** True for an IPv4 or IPv6 address. */
export function isAddress(text: string): boolean {
  return !text.includes('%') && v.is(v.pipe(v.string(), v.ip()), text)
}

/** True for a text without control characters and lone surrogates. */
function isPlainText(text: string): boolean {
  return text !== '' && text.isWellFormed() && !/\p{Cc}/u.test(text)
}

/** True for an existing UTC day, or for a time with a zone on such a day. */
function isTime(text: string): boolean {
  if (!/^[12]\d{3}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z)?$/.test(text)) return false
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text.slice(0, 10))
}
