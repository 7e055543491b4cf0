import { LOCALE } from '../words/locale.ts'
import { formatNumber } from '../words/numbers.ts'

/** Texts that all forms share. */
export const formTexts = {
  faults: (count: number) => (count === 1 ? 'Check one field' : `Check ${count} fields`),
  notSent: 'This could not be sent',
  missing: (label: string) => `${label}: enter a value.`,
  notAnEmail: 'Enter an address like name@clinic.example.',
  tooShort: (characters: number) => `Use at least ${characters} characters.`,
  outOfRange: (min: string, max: string) =>
    `Enter a whole number from ${formatNumber(Number(min))} to ${formatNumber(Number(max))}.`,
  invalid: 'This value is not valid.',
  unreachable: 'Wardkeep does not respond. Check your connection and try again.',
  unavailable: 'Wardkeep is being restored or updated. Nothing was changed.',
  failed: 'Something went wrong. Try again.',
  requestId: (id: string) => `Request ${id}`,
  tooManyAttempts: 'Too many attempts.',
  tryAgainIn: (seconds: number) => `Try again in ${duration(seconds)}.`,
  tryAgainNow: 'You can try again now.',
  show: 'Show',
  hide: 'Hide',
  showPassword: 'Show the password',
  hidePassword: 'Hide the password',
  optional: 'optional',
  draftKept: 'What you typed before you were signed out is still here.',
  discard: 'Discard what you typed',
  discardBody: 'The form was not sent.',
  stay: 'Keep editing',
  restoreDraft: 'Restore it',
  discardDraft: 'Discard it',
}

function duration(seconds: number): string {
  const isLong = seconds >= 120
  const unit = isLong ? 'minute' : 'second'
  const format = new Intl.NumberFormat(LOCALE, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(isLong ? Math.ceil(seconds / 60) : seconds)
}
