/** Parses bodies of cardnet notices: first the fields needed to store a notice, and later the reported payment. */
import { SECOND } from '../../../lib/clock.ts'
import { InvalidInput, type ValidationIssue } from '../../../lib/problems.ts'
import { isStorable, utf8Text } from '../../../lib/text.ts'
import { currencyOf, wholeUnits } from '../money.ts'
import type {
  Notice,
  PaymentFacts,
  PaymentReading,
  SaidStatus,
  UnusableReason,
} from '../payment-facts.ts'
import { exactly, isName, isObject, type JsonObject, sourceOf, tenantIn } from '../provider-json.ts'

const MAX_NAME = 255

/** The payment status for each type of notice. Other types do not concern payments. */
const STATUSES: Readonly<Record<string, SaidStatus>> = {
  'payment.created': 'pending',
  'payment.authorized': 'authorized',
  'payment.failed': 'failed',
  'payment.canceled': 'canceled',
  'payment.succeeded': 'succeeded',
  'payment.refunded': 'succeeded',
}
const OPEN: readonly SaidStatus[] = ['pending', 'authorized', 'failed']

/** Reads only the fields that must be valid to store a notice. @throws InvalidInput with all issues */
export function cardnetNoticeIn(body: Buffer): Notice {
  const event = parsed(body)
  const issues = [...issuesOf(event, 'id'), ...issuesOf(event, 'type')]
  if (issues.length > 0) throw new InvalidInput(issues)
  const { id, type } = event as { id: string; type: string }
  return { provider: 'cardnet', event_key: id, type, provider_payment_id: paymentIdIn(event) }
}

function parsed(body: Buffer): JsonObject {
  if (body.length === 0) throw issue([], 'Field required', 'missing')
  const text = utf8Text(body)
  if (text === undefined)
    throw issue([], 'JSON decode error: the body is not UTF-8', 'json_invalid')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw issue([], 'JSON decode error: the body is not valid JSON', 'json_invalid')
  }
  if (!isObject(value)) throw issue([], 'Input should be a valid dictionary', 'dict_type')
  return value
}

const issue = (path: string[], msg: string, type: string) =>
  new InvalidInput([{ loc: ['body', ...path], msg, type }])

function issuesOf(event: JsonObject, name: 'id' | 'type'): ValidationIssue[] {
  const value = Object.hasOwn(event, name) ? event[name] : undefined
  const wrong = (msg: string, type: string) => [{ loc: ['body', name], msg, type }]
  if (value === undefined) return wrong('Field required', 'missing')
  if (typeof value !== 'string') return wrong('Input should be a valid string', 'string_type')
  if (value === '') return wrong('String should have at least 1 character', 'string_too_short')
  if ([...value].length > MAX_NAME)
    return wrong(`String should have at most ${MAX_NAME} characters`, 'string_too_long')
  if (isStorable(value)) return []
  return wrong(
    'Value error, text must not contain NUL characters or lone surrogates',
    'value_error',
  )
}

function paymentIdIn(event: JsonObject): string | null {
  const object = isObject(event.data) ? event.data.object : undefined
  const id = isObject(object) ? object.id : undefined
  return isName(id, MAX_NAME) ? id : null
}

/** Reads the payment in a stored notice. The type of the notice determines the payment's status. */
export function cardnetReadingOf(body: Buffer): PaymentReading {
  const event = exactly(body)
  const type = isObject(event) ? event.type : undefined
  if (typeof type !== 'string') return { is: 'failed', reason: 'unreadable' }
  const status = Object.hasOwn(STATUSES, type) ? STATUSES[type] : undefined
  if (status === undefined) return { is: 'ignored' }
  const { created, data } = event as JsonObject
  const object = isObject(data) ? data.object : undefined
  if (!isObject(object) || !isName(object.id, MAX_NAME))
    return { is: 'failed', reason: 'unreadable' }
  const tenant_id = tenantIn(object.metadata)
  if (tenant_id === undefined) return { is: 'failed', reason: 'tenant_unreadable' }
  const failed = (reason: UnusableReason): PaymentReading => ({ is: 'failed', reason, tenant_id })
  const currency = currencyOf(object.currency)
  if (currency === undefined) return failed('currency_unknown')
  const amount = wholeUnits(sourceOf(object.amount))
  const amount_refunded = refundedIn(type, object.amount_refunded)
  if (amount === undefined || amount_refunded === undefined) return failed('amount_unreadable')
  const said_at = wholeUnits(sourceOf(created))
  // Accepts notices of final states without a valid time, because the time is only used to order open states.
  if ((said_at === undefined || !isTime(said_at)) && OPEN.includes(status))
    return failed('unreadable')
  const facts: PaymentFacts = {
    provider: 'cardnet',
    provider_payment_id: object.id,
    tenant_id,
    status,
    amount,
    amount_refunded,
    currency,
    test: object.livemode === false || (event as JsonObject).livemode === false,
    said_at: said_at !== undefined && isTime(said_at) ? said_at * SECOND : 0,
  }
  return { is: 'payment', facts }
}

/** Returns whether a time in seconds since the epoch is not after the year 9999. */
const isTime = (seconds: number) => seconds <= 253_402_300_799

/** Returns the total refunded so far: 0 for no refund, `all` for one without an amount, undefined if invalid. */
function refundedIn(type: string, value: unknown): number | 'all' | undefined {
  if (type !== 'payment.refunded') return 0
  return value === undefined || value === null ? 'all' : wholeUnits(sourceOf(value))
}
