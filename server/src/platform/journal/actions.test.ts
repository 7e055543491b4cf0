/** Tests which actions webhooks and the messenger can subscribe to. */
import { describe, expect, test } from 'vitest'
import { ACTIONS, isPublic, PUBLIC_ACTIONS } from './index.ts'

describe('the list of public actions', () => {
  test('contains no actions of webhooks, except webhook.test', () => {
    const ofWebhooks = Object.keys(ACTIONS).filter((action) => action.startsWith('webhook.'))
    expect(ofWebhooks.length).toBeGreaterThan(1)
    expect(ofWebhooks.filter(isPublic)).toEqual(['webhook.test'])
  })

  test('equals the list of webhook events', () => {
    expect(PUBLIC_ACTIONS).toEqual(Object.keys(ACTIONS).filter(isPublic))
    expect(PUBLIC_ACTIONS).toContain('user.blocked')
    expect(PUBLIC_ACTIONS).not.toContain('access.refused')
  })

  test('contains no action that no webhook could receive', () => {
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
])('the service treats the unknown action "%s" as public: %s', (action, expected) => {
  expect(isPublic(action)).toBe(expected)
})
