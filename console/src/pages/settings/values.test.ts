import { expect, test } from 'vitest'
import {
  isChanged,
  mergeSettings,
  newlyRequired,
  otherSettings,
  readSettings,
  shortensRetention,
} from './values.ts'

const DEFAULTS = readSettings({})

test('the settings page uses the defaults of the service for missing and invalid settings', () => {
  expect(DEFAULTS).toEqual({
    registration: 'approval',
    require_totp: [],
    idle_minutes: 15,
    listed: true,
    audit_retention_days: null,
  })
  expect(readSettings({ audit_retention_days: 90 }).audit_retention_days).toBe(90)
  expect(readSettings({ audit_retention_days: 89 }).audit_retention_days).toBeNull()
  expect(
    readSettings({ registration: 'all', require_totp: 'nurse', idle_minutes: 1, listed: 'no' }),
  ).toEqual(DEFAULTS)
  expect(readSettings({ require_totp: ['nurse', 'pilot'] }).require_totp).toEqual(['nurse'])
})

test('the settings page keeps unknown settings, and settings that other users saved in the meantime', () => {
  const latest = { colour: 'teal', idle_minutes: 5, registration: 'nonsense' }
  const values = { ...DEFAULTS, listed: false }
  expect(mergeSettings(latest, DEFAULTS, values)).toEqual({
    colour: 'teal',
    idle_minutes: 5,
    registration: 'approval',
    listed: false,
  })
  expect(otherSettings(latest)).toEqual(['colour'])
})

test('the settings page does not write a setting that was never set', () => {
  expect(mergeSettings({}, DEFAULTS, DEFAULTS)).toEqual({})
})

test('the settings page lists the changed settings of a form and the roles that they affect', () => {
  const saved = { ...DEFAULTS, name: 'North', require_totp: ['nurse'] as const }
  expect(isChanged(saved, { ...saved })).toBe(false)
  expect(isChanged(saved, { ...saved, name: 'South' })).toBe(true)
  const values = { ...saved, require_totp: ['doctor', 'nurse'] as const }
  expect(isChanged(saved, values)).toBe(true)
  expect(newlyRequired(saved, values)).toEqual(['doctor'])
})

test.each([
  [null, 400, true],
  [400, 90, true],
  [400, 400, false],
  [90, 400, false],
  [90, null, false],
])(
  'the settings page warns of a shorter retention: from %j to %j days: %j',
  (before, after, isShorter) => {
    const of = (audit_retention_days: number | null) => ({ ...DEFAULTS, audit_retention_days })
    expect(shortensRetention(of(before), of(after))).toBe(isShorter)
  },
)
