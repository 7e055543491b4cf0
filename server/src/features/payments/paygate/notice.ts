/** Parses paygate notices, which name the object to fetch and claim statuses that the API must confirm. */
import { Problem } from '../../../lib/problems.ts'
import type { Notice } from '../payment-facts.ts'
import { inexactly, isName, isObject } from '../provider-json.ts'
import { type ApiStatus, isApiStatus } from './payment.ts'

const MAX_ID = 255
const MAX_WORD = 64

/** The object to fetch, and the statuses that the notice claims. */
export interface Hint {
  about: 'payment' | 'refund' | 'other'
  /** The id of the payment or refund, as the notice states it. */
  id: string
  /** The statuses that the API must report for the notice to be true. A later status confirms the claim too. */
  claims: readonly ApiStatus[]
}

interface Body {
  event: string
  object: { id: string; status?: unknown; payment_id?: unknown }
}

/** Reads only the fields that must be valid to store a notice. @throws Problem 400 if they are invalid */
export function paygateNoticeIn(body: Buffer): Notice {
  const read = parsed(body)
  if (!read) throw new Problem('notification_unreadable')
  const { event, object } = read
  const status = isName(object.status, MAX_WORD) ? object.status : ''
  const payment = event.startsWith('payment.') ? object.id : object.payment_id
  return {
    provider: 'paygate',
    // Notices from paygate have no id, so the event, the object and its status identify them.
    event_key: JSON.stringify([event, object.id, status]),
    type: event,
    provider_payment_id: isName(payment, MAX_ID) ? payment : null,
  }
}

/** Returns the hint in a stored notice, or undefined if the notice is unreadable. */
export function hintIn(body: Buffer): Hint | undefined {
  const read = parsed(body)
  if (!read) return undefined
  const { event, object } = read
  const words = [wordOf(event), object.status]
  return { about: aboutOf(event), id: object.id, claims: words.filter(isApiStatus) }
}

function parsed(body: Buffer): Body | undefined {
  // Ignores a loss of precision in numbers, because amounts are read only from the API.
  const value = inexactly(body)
  if (!isObject(value) || !isName(value.event, MAX_WORD)) return undefined
  const { event, object } = value
  return isObject(object) && isName(object.id, MAX_ID)
    ? { event, object: object as Body['object'] }
    : undefined
}

/** Returns the part of an event's name after the dot, which is a status. */
const wordOf = (event: string) => event.slice(event.indexOf('.') + 1)

function aboutOf(event: string): Hint['about'] {
  if (event.startsWith('payment.')) return isApiStatus(wordOf(event)) ? 'payment' : 'other'
  return event.startsWith('refund.') ? 'refund' : 'other'
}
