/** Tests the id and the body of an event's message. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { type EventEntry, messageBody, messageId, parseMessageId } from './message.ts'

const ENTRY: EventEntry = {
  id: 5726,
  tenant_id: 2,
  action: 'user.blocked',
  resource_type: 'user',
  resource_id: '5',
  user_id: 3,
  changes: { before: { is_active: true }, after: { is_active: false } },
  created_at: '2026-11-21T10:00:00.000Z',
}

const anEntry = fc.record({
  id: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  created_at: fc
    .date({ min: new Date('2000-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
})

describe('the ID of a webhook message', () => {
  test('depends only on the time and id of the journal entry', () => {
    const { id, created_at } = ENTRY
    expect(messageId(ENTRY)).toBe(messageId({ id, created_at }))
    expect(messageId(ENTRY)).toBe('msg_mwq8lds0_4f2')
  })

  test('differs if the time or ID of the journal entry differs', () => {
    fc.assert(
      fc.property(anEntry, anEntry, (one, other) => {
        const isSame = one.id === other.id && one.created_at === other.created_at
        expect(messageId(one) === messageId(other)).toBe(isSame)
      }),
    )
    const { id } = ENTRY
    const later = { id, created_at: '2026-11-21T10:00:00.001Z' }
    expect(messageId(later)).not.toBe(messageId(ENTRY))
  })

  test('can be parsed back into the time and id of the journal entry', () => {
    fc.assert(
      fc.property(anEntry, (entry) => {
        expect(parseMessageId(messageId(entry))).toEqual(entry)
      }),
    )
  })

  test('is invalid if its time is after the year 9999', () => {
    const idAt = (time: number) => `msg_${time.toString(36)}_1`
    const last = Date.parse('9999-12-31T23:59:59.999Z')
    expect(parseMessageId(idAt(last))).toEqual({ id: 1, created_at: '9999-12-31T23:59:59.999Z' })
    expect(parseMessageId(idAt(last + 1))).toBeUndefined()
    expect(parseMessageId(idAt(8.64e15 + 1))).toBeUndefined()
  })

  test('contains no full stop, which separates the signed fields', () => {
    fc.assert(fc.property(anEntry, (entry) => !messageId(entry).includes('.')))
  })
})

describe('the body of a webhook message', () => {
  test('contains exactly the fields of the specification', () => {
    expect(JSON.parse(messageBody(ENTRY))).toEqual({
      type: 'user.blocked',
      timestamp: '2026-11-21T10:00:00.000Z',
      id: messageId(ENTRY),
      tenant_id: 2,
      data: {
        entry_id: 5726,
        resource_type: 'user',
        resource_id: '5',
        user_id: 3,
        changes: { before: { is_active: true }, after: { is_active: false } },
      },
    })
  })

  test('is byte-for-byte identical in every attempt', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (changes) => {
        const entry = { ...ENTRY, changes }
        // Two reads of the same row return equal but distinct objects.
        expect(messageBody(structuredClone(entry))).toBe(messageBody(entry))
      }),
    )
  })

  test('lacks fields that identify a person, such as the email address', () => {
    const whole = { ...ENTRY, user_email: 'admin@clinic.test', ip: '192.0.2.1', user_agent: 'curl' }
    expect(messageBody(whole)).toBe(messageBody(ENTRY))
  })

  test('contains only IDs, and no changes, for events about patients', () => {
    const entry = { ...ENTRY, action: 'patient.updated', resource_type: 'patient' }
    const { data } = JSON.parse(messageBody(entry))
    expect(data).toEqual({ entry_id: 5726, resource_type: 'patient', resource_id: '5', user_id: 3 })
  })

  test('contains null in the field `changes` if the event changed nothing', () => {
    const { data } = JSON.parse(messageBody({ ...ENTRY, changes: null }))
    expect(data).toHaveProperty('changes', null)
  })
})
