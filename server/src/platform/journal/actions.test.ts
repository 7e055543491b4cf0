/** Which actions others may subscribe to. */
import { describe, expect, test } from 'vitest'
import { ACTIONS, isPublic, PUBLIC_ACTIONS } from './index.ts'

describe('of the actions', () => {
  test('of webhooks, only the test is an event', () => {
    const ofWebhooks = Object.keys(ACTIONS).filter((action) => action.startsWith('webhook.'))
    expect(ofWebhooks.length).toBeGreaterThan(1)
    expect(ofWebhooks.filter(isPublic)).toEqual(['webhook.test'])
  })

  test('those that are events make one list, and no other is in it', () => {
    expect(PUBLIC_ACTIONS).toEqual(Object.keys(ACTIONS).filter(isPublic))
    expect(PUBLIC_ACTIONS).toContain('user.blocked')
    expect(PUBLIC_ACTIONS).not.toContain('access.refused')
  })

  test('what nobody could hear is no event', () => {
    const offered = Object.keys(ACTIONS).filter((action) => /^(auth|tenant)\./.test(action))
    expect(offered.filter((action) => !isPublic(action))).toEqual([
      'tenant.purged',
      'auth.key_rotated',
    ])
  })
})

test.each([
  ['patient.a_later_release', true],
  ['webhook.a_later_release', false],
  ['users.created', false],
  ['user', false],
  ['users', false],
  ['', false],
])('the action "%s", which this release does not know, is an event: %s', (action, expected) => {
  expect(isPublic(action)).toBe(expected)
})
