import { LOCALE } from '../words/locale.ts'

const seconds = new Intl.NumberFormat(LOCALE, {
  style: 'unit',
  unit: 'second',
  unitDisplay: 'long',
})

export const idleWarningTexts = {
  title: 'Are you still there?',
  body: 'You will be signed out soon because there was no activity.',
  left: (left: number) => `${seconds.format(left)} left`,
  stay: 'Stay signed in',
  signOut: 'Sign out',
}
