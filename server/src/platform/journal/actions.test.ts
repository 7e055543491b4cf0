/** Tests which actions webhooks and the messenger can subscribe to. */
import { describe, expect, test } from 'vitest'
import { ACTIONS, isPublic, PUBLIC_ACTIONS } from './index.ts'

describe('the registry of actions', () => {
  test('contains no events about webhooks, except for the test event', () => {
    const ofWebhooks = Object.keys(ACTIONS).filter((action) => action.startsWith('webhook.'))
    expect(ofWebhooks.length).toBeGreaterThan(1)
    expect(ofWebhooks.filter(isPublic)).toEqual(['webhook.test'])
  })

  test('lists exactly the public actions as events', () => {
    expect(PUBLIC_ACTIONS).toEqual(Object.keys(ACTIONS).filter(isPublic))
    expect(PUBLIC_ACTIONS).toContain('user.blocked')
    expect(PUBLIC_ACTIONS).not.toContain('access.refused')
  })

  test('lists no event that no webhook could receive', () => {
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
])('treats the unknown action "%s" as an event: %s', (action, expected) => {
  expect(isPublic(action)).toBe(expected)
})
