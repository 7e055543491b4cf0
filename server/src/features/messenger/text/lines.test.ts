/** What is said of each event. */
import { describe, expect, test } from 'vitest'
import { PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'
import { countOf, LINES, lineOf, type Told } from './lines.ts'

const EVENT: Told = {
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
const say = (event: Partial<Told>) => lineOf({ ...EVENT, ...event }, showAmount)

describe('a line', () => {
  test('is there for every public action but the test of a webhook, and for no other', () => {
    expect(Object.keys(LINES).sort()).toEqual(
      PUBLIC_ACTIONS.filter((action) => action !== 'webhook.test').sort(),
    )
  })

  test.each(Object.keys(LINES))(
    'of %s is a sentence on one line with its time in UTC',
    (action) => {
      for (const isOwn of [true, false]) {
        const line = say({ action, isOwn })
        expect(line).toMatch(/^21 Nov 08:30 UTC: [A-Z][^\n]*\.$/)
        // Nothing that a client would make a link, a command, a hashtag or a mention of.
        expect(line.slice('21 Nov 08:30 UTC: '.length)).not.toMatch(/[@#/]|\w:\w|[a-z]\.\w/i)
        expect(line.length).toBeLessThan(200)
      }
    },
  )

  test('names who did it and to whom', () => {
    expect(say({})).toBe(
      '21 Nov 08:30 UTC: The account of Nora Nurse was blocked and signed out by Ada Admin.',
    )
    expect(say({ by: null, isOwn: true })).toBe(
      '21 Nov 08:30 UTC: Your account was blocked and signed out.',
    )
    expect(say({ action: 'auth.login_failed', whose: null, by: null })).toBe(
      '21 Nov 08:30 UTC: A sign-in to an unknown account was refused.',
    )
  })

  test('names the role that was given, where it is one', () => {
    const action = 'user.role_changed'
    expect(say({ action, changes: { after: { role: 'doctor' } } })).toContain('the role doctor by')
    expect(say({ action, changes: { after: { role: '/stop' } } })).toContain('another role by')
    expect(say({ action, changes: null })).toContain('another role by')
  })

  test('names a department, unless a client would make more of its name', () => {
    const event = { action: 'department.updated', resourceId: '12' }
    expect(say({ ...event, changes: { after: { name: 'Surgery' } } })).toContain(
      'The department Surgery was changed by Ada Admin.',
    )
    expect(say({ ...event, changes: { after: { name: 'see evil.example' } } })).toContain(
      'Department 12 was changed',
    )
    expect(say({ ...event, changes: { after: { head_doctor_id: 4 } } })).toContain('Department 12')
  })

  test('says the amount of a payment, and what was given back of it', () => {
    const after = { amount: 10_000, amount_refunded: 2_500, currency: 'EUR' }
    const event = { resourceType: 'payment', resourceId: '81', by: null, changes: { after } }
    expect(say({ ...event, action: 'payment.succeeded' })).toContain(
      ': Payment 81 of 100.00 EUR was made.',
    )
    expect(say({ ...event, action: 'payment.refunded' })).toContain(
      ': Given back of payment 81 of 100.00 EUR: 25.00 EUR in all.',
    )
    expect(say({ ...event, action: 'payment.failed', changes: null })).toContain(
      ': Payment 81 failed',
    )
  })

  test('of what a newer release has written says its kind and its number, and nothing it holds', () => {
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

describe('a count', () => {
  test('says one and many', () => {
    expect(countOf('user.created', 4980)).toBe('4,980 users created')
    expect(countOf('user.created', 1)).toBe('1 user created')
    expect(countOf('patient.merged', 2)).toBe('2 of patient merged')
  })
})
