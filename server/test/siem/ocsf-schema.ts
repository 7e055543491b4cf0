/**
 * A JSON Schema of the OCSF 1.8.0 events in use, built from the requirements that the OCSF project publishes
 * (github.com/ocsf/ocsf-schema): required attributes, types, enumerations, constraints (`at_least_one`), and for each
 * class and object all attributes that it defines.
 */
import { Ajv } from 'ajv'

type Schema = Record<string, unknown>

const text = { type: 'string', minLength: 1 }
const integer = { type: 'integer' }
const time = { type: 'integer', minimum: 0 }
const boolean = { type: 'boolean' }
const oneOf = (...values: number[]): Schema => ({ type: 'integer', enum: values })

/** An object with attributes, of which some are required and one of others has to be present. */
function object(
  properties: Record<string, Schema>,
  { required = [], atLeastOne = [] }: { required?: string[]; atLeastOne?: string[] } = {},
): Schema {
  const one = atLeastOne.map((name) => ({ required: [name] }))
  return {
    type: 'object',
    properties,
    required,
    additionalProperties: false,
    ...(one.length > 0 ? { anyOf: one } : {}),
  }
}

const user = object(
  {
    uid: text,
    name: text,
    email_addr: text,
    full_name: text,
    type: text,
    type_id: oneOf(0, 1, 2, 3, 4, 99),
  },
  { atLeastOne: ['account', 'name', 'uid'] },
)
const actor = object(
  { app_name: text, app_uid: text, session: {}, user },
  { atLeastOne: ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'] },
)
const endpoint = object(
  { ip: text, name: text, hostname: text, uid: text, svc_name: text, port: integer },
  { atLeastOne: ['ip', 'uid', 'name', 'hostname', 'svc_name', 'domain'] },
)
const named = { name: text, uid: text }
const product = object(
  {
    ...named,
    vendor_name: text,
    version: text,
    feature: {},
    lang: text,
    path: text,
    url_string: text,
  },
  { atLeastOne: ['name', 'uid'] },
)
const metadata = object(
  {
    version: { const: '1.8.0' },
    product,
    uid: text,
    sequence: integer,
    tenant_uid: text,
    correlation_uid: text,
    event_code: text,
    log_name: text,
    is_truncated: boolean,
    untruncated_size: integer,
  },
  { required: ['version', 'product'] },
)
const base = {
  activity_id: integer,
  activity_name: text,
  category_uid: integer,
  category_name: text,
  class_uid: integer,
  class_name: text,
  type_uid: integer,
  type_name: text,
  severity_id: oneOf(0, 1, 2, 3, 4, 5, 6, 99),
  severity: text,
  status_id: oneOf(0, 1, 2, 99),
  status: text,
  status_code: text,
  status_detail: text,
  time,
  start_time: time,
  end_time: time,
  count: integer,
  message: text,
  metadata,
  unmapped: { type: 'object' },
}
const REQUIRED = [
  'activity_id',
  'category_uid',
  'class_uid',
  'metadata',
  'severity_id',
  'time',
  'type_uid',
]
const request = {
  actor,
  src_endpoint: endpoint,
  http_request: object({ user_agent: text, uid: text, http_method: text, url: {} }),
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** The schema of a class. @param activities the activities that the class defines, besides 0 and 99 */
function classOf(
  uid: number,
  activities: number[],
  attributes: Record<string, Schema>,
  required: string[],
  atLeastOne: string[] = [],
): Schema {
  const ids = [0, ...activities, 99]
  const identifiers = {
    category_uid: { const: Math.floor(uid / 1000) },
    class_uid: { const: uid },
    activity_id: { enum: ids },
    // The schema defines `type_uid` as `class_uid * 100 + activity_id`.
    type_uid: { enum: ids.map((id) => uid * 100 + id) },
  }
  const properties = { ...base, ...request, ...attributes, ...identifiers }
  return object(properties, { required: [...REQUIRED, ...required], atLeastOne })
}

const org = object(
  { ...named, ou_name: text, ou_uid: text },
  { atLeastOne: ['name', 'uid', 'ou_name', 'ou_uid'] },
)
const entity = object(
  {
    ...named,
    type: text,
    type_id: oneOf(0, ...range(1, 7), 99),
    data: {},
    org,
    user,
    version: text,
  },
  { atLeastOne: ['name', 'uid', 'device', 'group', 'org', 'policy', 'user'] },
)
const api = object(
  {
    operation: text,
    request: object({ uid: text, flags: {}, data: {} }, { required: ['uid'] }),
    response: {},
    service: {},
    version: text,
  },
  { required: ['operation'] },
)
const resources = {
  type: 'array',
  items: object({ ...named, type: text, owner: user }, { atLeastOne: ['name', 'uid'] }),
}
const service = object({ ...named, version: text, labels: {} }, { atLeastOne: ['name', 'uid'] })

const BY_CLASS: Readonly<Record<number, Schema>> = {
  3001: classOf(3001, range(1, 12), { user, user_result: user }, ['user']),
  3002: classOf(
    3002,
    range(1, 7),
    {
      user,
      service,
      dst_endpoint: endpoint,
      is_remote: boolean,
      is_mfa: boolean,
      session: object({ uid: text, created_time: time, issuer: text }),
    },
    ['user'],
    ['service', 'dst_endpoint'],
  ),
  3004: classOf(3004, range(1, 13), { entity, entity_result: entity, comment: text }, ['entity']),
  6003: classOf(6003, range(1, 4), { api, resources, dst_endpoint: endpoint }, [
    'actor',
    'api',
    'src_endpoint',
  ]),
}

const ajv = new Ajv({ allErrors: true, strict: false })
const validators = new Map(
  Object.entries(BY_CLASS).map(([uid, schema]) => [Number(uid), ajv.compile(schema)]),
)

/** Returns what is wrong with an event, or an empty list. */
export function faultsOf(event: { class_uid?: unknown }): string[] {
  const validate = validators.get(Number(event.class_uid))
  if (!validate) return [`unknown class ${event.class_uid}`]
  validate(event)
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}
