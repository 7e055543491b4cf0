/** Builds OCSF 1.8.0 events from journal entries. */
import { ACTIONS, type NumberedEntry } from '../../../platform/journal/index.ts'
import { CLASSES, type Mapping, mappingOf, OTHER_ACTIVITY, SEVERITIES } from './mapping.ts'

const OCSF_VERSION = '1.8.0'
const PRODUCT = 'Wardkeep'

type Json = Readonly<Record<string, unknown>>

/** Describes the action of an entry in a sentence. */
export const meaningOf = (action: string): string =>
  (ACTIONS as Record<string, { meaning: string }>)[action]?.meaning ?? action

export interface OcsfEvent extends Json {
  readonly metadata: Json
  readonly unmapped: Json
}

/** @param version the version of this service */
export function ocsfEvent(entry: NumberedEntry, version: string): OcsfEvent {
  const mapping = mappingOf(entry.action)
  const { uid: classUid, name, category } = CLASSES[mapping.class]
  return {
    activity_id: mapping.activity,
    activity_name: mapping.activityName,
    category_uid: category,
    class_uid: classUid,
    class_name: name,
    type_uid: classUid * 100 + mapping.activity,
    severity_id: mapping.severity,
    severity: SEVERITIES[mapping.severity],
    status_id: mapping.isFailure ? 2 : 1,
    status: mapping.isFailure ? 'Failure' : 'Success',
    time: Date.parse(entry.created_at),
    message: meaningOf(entry.action),
    metadata: {
      version: OCSF_VERSION,
      uid: String(entry.id),
      sequence: entry.sequence,
      event_code: entry.action,
      log_name: 'audit',
      ...(entry.tenant_id === null ? {} : { tenant_uid: String(entry.tenant_id) }),
      ...(entry.request_id === null ? {} : { correlation_uid: entry.request_id }),
      product: { name: PRODUCT, vendor_name: PRODUCT, version },
    },
    actor: actorOf(entry),
    ...sourceOf(entry),
    ...DETAILS[mapping.class](entry, mapping),
    unmapped: unmappedOf(entry),
  }
}

function unmappedOf({ resource_type, resource_id, changes }: NumberedEntry): Json {
  return {
    resource_type,
    ...(resource_id === null ? {} : { resource_id }),
    ...(changes === null ? {} : { changes }),
  }
}

/** Returns the user who acted. Without one, the service itself acted, or a caller whom it does not know. */
function actorOf({ user_id, user_email, ip }: NumberedEntry): Json {
  if (user_id === null) return { app_name: ip === null ? PRODUCT : 'Unknown client' }
  return { user: userObject(String(user_id), user_email) }
}

const userObject = (uid: string | null, email: string | null): Json => ({
  ...(uid === null ? {} : { uid }),
  ...(email === null ? {} : { name: email, email_addr: email }),
  ...(uid === null && email === null ? { name: 'Unknown' } : {}),
})

function sourceOf({ ip, user_agent }: NumberedEntry): Json {
  return {
    ...(ip === null ? {} : { src_endpoint: { ip } }),
    ...(user_agent === null ? {} : { http_request: { user_agent } }),
  }
}

/** Returns the account that the entry is about: its resource, or for a session the user who acted. */
function subjectOf(entry: NumberedEntry): Json {
  const { resource_type, resource_id, user_id, user_email } = entry
  if (resource_type !== 'user')
    return userObject(user_id === null ? null : String(user_id), user_email)
  // A failed sign-in has no user, only the address that was entered.
  const isOwn = user_id === null || String(user_id) === resource_id
  const { before, after } = changesOf(entry)
  const email = isOwn ? user_email : (textOf(after, 'email') ?? textOf(before, 'email'))
  return userObject(resource_id, email)
}

const changesOf = ({ changes }: NumberedEntry): Json =>
  typeof changes === 'object' && changes !== null ? (changes as Json) : {}

function textOf(value: unknown, name: string): string | null {
  if (typeof value !== 'object' || value === null) return null
  const text = (value as Json)[name]
  return typeof text === 'string' ? text : null
}

type Details = (entry: NumberedEntry, mapping: Mapping) => Json

/** The attributes that each class requires besides those of all classes. */
const DETAILS: Record<Mapping['class'], Details> = {
  account_change: (entry) => ({ user: subjectOf(entry) }),

  authentication: (entry, { isFailure }) => {
    const reason = textOf(entry.changes, 'reason')
    return {
      user: subjectOf(entry),
      service: { name: PRODUCT },
      is_remote: true,
      ...(entry.resource_type === 'session' && entry.resource_id !== null
        ? { session: { uid: entry.resource_id } }
        : {}),
      ...(isFailure && reason !== null ? { status_detail: reason } : {}),
    }
  },

  entity_management: (entry) => ({ entity: entityOf(entry) }),

  api_activity: (entry, { activity }) => {
    const { resource_type, resource_id, action, request_id } = entry
    const isRefused = activity === OTHER_ACTIVITY
    return {
      api: {
        operation: isRefused && resource_id !== null ? resource_id : action,
        ...(request_id === null ? {} : { request: { uid: request_id } }),
      },
      // The schema requires a source, but an entry of a background job has none.
      ...(entry.ip === null ? { src_endpoint: { name: 'Unknown' } } : {}),
      ...(isRefused ? refusalOf(entry) : { resources: resourcesOf(entry, resource_type) }),
    }
  },
}

/** The identifiers of managed entities (`type_id`). All other entities have the identifier of Other. */
const ORGANIZATION = 4
const OTHER_ENTITY = 99

function entityOf({ resource_type, resource_id }: NumberedEntry): Json {
  const isTenant = resource_type === 'tenant' && resource_id !== null
  return {
    type: isTenant ? 'Organization' : resource_type,
    type_id: isTenant ? ORGANIZATION : OTHER_ENTITY,
    ...(resource_id === null ? { name: resource_type } : { uid: resource_id }),
    ...(isTenant ? { org: { uid: resource_id } } : {}),
  }
}

/** Returns the number and period of the refused calls that one entry counts together. */
function refusalOf(entry: NumberedEntry): Json {
  const { code, count, first_at, last_at } = changesOf(entry)
  return {
    ...(typeof code === 'string' ? { status_code: code } : {}),
    ...(typeof count === 'number' ? { count } : {}),
    ...(typeof first_at === 'string' ? { start_time: Date.parse(first_at) } : {}),
    ...(typeof last_at === 'string' ? { end_time: Date.parse(last_at) } : {}),
  }
}

function resourcesOf(entry: NumberedEntry, type: string): Json[] {
  if (entry.resource_id !== null) return [{ type, uid: entry.resource_id }]
  const { resource_ids } = changesOf(entry)
  // A list or a search may have found nothing.
  if (!Array.isArray(resource_ids) || resource_ids.length === 0) return [{ type, name: type }]
  return resource_ids.map((id) => ({ type, uid: String(id) }))
}
