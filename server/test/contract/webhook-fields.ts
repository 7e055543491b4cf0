/** The fields of the responses about webhooks. */

/** The kind of a field's value; a list if several are allowed. */
export type Kind =
  | 'integer'
  | 'number'
  | 'string'
  | 'boolean'
  | 'object'
  | 'array'
  | 'time'
  | 'null'
export type Fields = Record<string, Kind | readonly Kind[]>

export const WEBHOOK: Fields = {
  id: 'integer',
  tenant_id: 'integer',
  url: 'string',
  events: 'array',
  is_active: 'boolean',
  created_at: 'time',
  disabled_reason: ['string', 'null'],
  failing_since: ['time', 'null'],
}
export const WEBHOOK_STATS: Fields = {
  since: 'time',
  delivered: 'integer',
  failed: 'integer',
  is_estimate: 'boolean',
  hourly: 'object',
}
export const WEBHOOK_DETAILS: Fields = {
  ...WEBHOOK,
  waiting: 'integer',
  last_failure: ['object', 'null'],
  previous_secret_until: ['time', 'null'],
  stats: 'object',
}
export const TEST_RESULT: Fields = {
  delivered: 'boolean',
  status_code: ['integer', 'null'],
  duration_ms: 'integer',
  error: ['string', 'null'],
  detail: ['string', 'null'],
  response_body: ['string', 'null'],
  message_id: 'string',
}
export const DELIVERY: Fields = {
  id: 'integer',
  webhook_id: 'integer',
  message_id: 'string',
  event: 'string',
  status: 'string',
  attempts_count: 'integer',
  attempts: 'array',
  next_attempt_at: ['time', 'null'],
  created_at: 'time',
  finished_at: ['time', 'null'],
}
export const REPLAY: Fields = {
  id: 'integer',
  webhook_id: 'integer',
  since: 'time',
  until: 'time',
  only_failed: 'boolean',
  state: 'string',
  found: 'integer',
  waiting: 'integer',
  delivered: 'integer',
  failed: 'integer',
  created_at: 'time',
  finished_at: ['time', 'null'],
}
export const REPLAY_PREVIEW: Fields = {
  since: 'time',
  until: 'time',
  count: 'integer',
  is_minimum: 'boolean',
}
