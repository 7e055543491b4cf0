/** The bodies of paygate's notices: a hint that something is to be asked for, and what should be heard then. */
import { Problem } from '../../../lib/problems.ts'
import type { Notice } from '../payment-facts.ts'
import { inexactly, isName, isObject } from '../provider-json.ts'
import { type ApiStatus, isApiStatus } from './payment.ts'

const MAX_ID = 255
const MAX_WORD = 64

/** What a notice asks for, and what it claims. */
export interface Hint {
  about: 'payment' | 'refund' | 'other'
  /** Of the payment or the refund, as the notice has it. */
  id: string
  /** What the provider's API has to say at the least, for the notice to be true. */
  claims: readonly ApiStatus[]
}

interface Body {
  event: string
  object: { id: string; status?: unknown; payment_id?: unknown }
}

/** Reads no more than has to be right for a notice to be stored. @throws Problem 400 */
export function noticeIn(body: Buffer): Notice {
  const read = parsed(body)
  if (!read) throw new Problem('notification_unreadable')
  const { event, object } = read
  const status = isName(object.status, MAX_WORD) ? object.status : ''
  const payment = event.startsWith('payment.') ? object.id : object.payment_id
  return {
    provider: 'paygate',
    // It has no id of its own: what happened to what names it.
    event_key: JSON.stringify([event, object.id, status]),
    type: event,
    provider_payment_id: isName(payment, MAX_ID) ? payment : null,
  }
}

/** What a stored notice asks for; undefined where it says nothing. */
export function hintIn(body: Buffer): Hint | undefined {
  const read = parsed(body)
  if (!read) return undefined
  const { event, object } = read
  const words = [wordOf(event), object.status]
  return { about: aboutOf(event), id: object.id, claims: words.filter(isApiStatus) }
}

function parsed(body: Buffer): Body | undefined {
  // No number of a hint is ever used: amounts are what the API says of them.
  const value = inexactly(body)
  if (!isObject(value) || !isName(value.event, MAX_WORD)) return undefined
  const { event, object } = value
  return isObject(object) && isName(object.id, MAX_ID)
    ? { event, object: object as Body['object'] }
    : undefined
}

/** What has become of the object, by the event's name. */
const wordOf = (event: string) => event.slice(event.indexOf('.') + 1)

function aboutOf(event: string): Hint['about'] {
  if (event.startsWith('payment.')) return isApiStatus(wordOf(event)) ? 'payment' : 'other'
  return event.startsWith('refund.') ? 'refund' : 'other'
}
