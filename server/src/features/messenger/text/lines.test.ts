/** Tests the text of a chat message for each event. */
import { describe, expect, test } from 'vitest'
import { PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'
import { countOf, type DescribedEvent, LINES, lineOf } from './lines.ts'

const EVENT: DescribedEvent = {
  action: 'user.blocked',
  at: '2026-11-21T08:30:59.999Z',
  isOwn: false,
  by: 'Ada Admin',
  whose: 'Nora Nurse',
  resourceType: 'user',
  resourceId: '57',
  changes: { before: { is_active: true }, after: { is_active: false } },
}
const showAmount = (minor: unknown, currency: unknown) =>
  typeof minor === 'number' ? `${(minor / 100).toFixed(2)} ${currency}` : undefined
const say = (event: Partial<DescribedEvent>) => lineOf({ ...EVENT, ...event }, showAmount)

describe('the message line', () => {
  test('exists for exactly the public actions, except webhook.test', () => {
    expect(Object.keys(LINES).sort()).toEqual(
      PUBLIC_ACTIONS.filter((action) => action !== 'webhook.test').sort(),
    )
  })

  test.each(Object.keys(LINES))(
    'for %s is a sentence on one line with its time in UTC',
    (action) => {
      for (const isOwn of [true, false]) {
        const line = say({ action, isOwn })
        expect(line).toMatch(/^21 Nov 08:30 UTC: [A-Z][^\n]*\.$/)
        // The line must not contain anything that a chat client would turn into a link, command, hashtag or mention.
        expect(line.slice('21 Nov 08:30 UTC: '.length)).not.toMatch(/[@#/]|\w:\w|[a-z]\.\w/i)
        expect(line.length).toBeLessThan(200)
      }
    },
  )

  test('names the acting user and the affected user', () => {
    expect(say({})).toBe(
      '21 Nov 08:30 UTC: The account of Nora Nurse was blocked and signed out by Ada Admin.',
    )
    expect(say({ by: null, isOwn: true })).toBe(
      '21 Nov 08:30 UTC: Your account was blocked and signed out.',
    )
    expect(say({ action: 'auth.login_failed', whose: null, by: null })).toBe(
      '21 Nov 08:30 UTC: A sign-in to an unknown account was rejected.',
    )
  })

  test('names the assigned role only if the role is known', () => {
    const action = 'user.role_changed'
    expect(say({ action, changes: { after: { role: 'doctor' } } })).toContain('the role doctor by')
    expect(say({ action, changes: { after: { role: '/stop' } } })).toContain('another role by')
    expect(say({ action, changes: null })).toContain('another role by')
  })

  test('names a department unless chat clients would turn its name into a link', () => {
    const event = { action: 'department.updated', resourceId: '12' }
    expect(say({ ...event, changes: { after: { name: 'Surgery' } } })).toContain(
      'The department Surgery was changed by Ada Admin.',
    )
    expect(say({ ...event, changes: { after: { name: 'see evil.example' } } })).toContain(
      'Department 12 was changed',
    )
    expect(say({ ...event, changes: { after: { head_doctor_id: 4 } } })).toContain('Department 12')
  })

  test('contains the amount of a payment, and the refunded amount', () => {
    const after = { amount: 10_000, amount_refunded: 2_500, currency: 'EUR' }
    const event = { resourceType: 'payment', resourceId: '81', by: null, changes: { after } }
    expect(say({ ...event, action: 'payment.succeeded' })).toContain(
      ': Payment 81 of 100.00 EUR was completed.',
    )
    expect(say({ ...event, action: 'payment.refunded' })).toContain(
      ': Refunded from payment 81 of 100.00 EUR: 25.00 EUR in total.',
    )
    expect(say({ ...event, action: 'payment.failed', changes: null })).toContain(
      ': Payment 81 failed',
    )
  })

  test('contains only the action and the record ID for an unknown action', () => {
    const line = say({
      action: 'patient.merged',
      resourceType: 'patient',
      resourceId: '9001',
      changes: { after: { full_name: 'Paula Patient' } },
    })
    expect(line).toBe('21 Nov 08:30 UTC: patient merged (patient 9001).')
    expect(say({ action: 'x.y', resourceType: 'x', resourceId: 'Paula' })).toContain('(x unknown)')
  })
})

describe('the number of events in a digest', () => {
  test('is followed by the singular or the plural', () => {
    expect(countOf('user.created', 4980)).toBe('4,980 users created')
    expect(countOf('user.created', 1)).toBe('1 user created')
    expect(countOf('patient.merged', 2)).toBe('2 × patient merged')
  })
})
