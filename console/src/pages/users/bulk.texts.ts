import { formatNumber } from '../../words/numbers.ts'
import { usersTexts } from './users.texts.ts'

const { people } = usersTexts

/** Texts of the actions on several selected users. */
export const bulkTexts = {
  progress: (done: number, total: number) => `${formatNumber(done)} of ${formatNumber(total)}`,
  waiting: (seconds: number) =>
    `The service asks to wait. Next attempt in ${formatNumber(seconds)} s.`,
  skipped: (count: number) =>
    `${people(count)} left out, because it does not apply to them or you may not change them.`,
  stop: 'Stop',
  partly: (done: number, total: number, refused: number) =>
    `Done for ${formatNumber(done)} of ${formatNumber(total)}. ${
      refused > 0 ? `Refused for ${people(refused)}:` : 'The others stay as they were.'
    }`,
  summary: (label: string, done: number, total: number, refused: number) =>
    `${label}: done for ${formatNumber(done)} of ${formatNumber(total)}${
      refused > 0 ? `, refused for ${people(refused)}` : ''
    }.`,
  acts: {
    block: {
      title: (count: number) => `Block ${people(count)}`,
      body: (count: number) =>
        `Signs out every session of ${people(count)} within a second. Heads of department stay heads. Anyone with your role can unblock.`,
      done: (count: number) => `Blocked ${people(count)}.`,
    },
    unblock: {
      title: (count: number) => `Unblock ${people(count)}`,
      body: (count: number) => `Lets ${people(count)} sign in again.`,
      done: (count: number) => `Unblocked ${people(count)}.`,
    },
    endSessions: {
      title: (count: number) => `End the sessions of ${people(count)}`,
      body: (count: number) =>
        `Signs out every session of ${people(count)} within a second. Signing in again works at once.`,
      done: (count: number) => `Signed out ${people(count)}.`,
    },
    approve: {
      title: (count: number) => `Approve ${people(count)}`,
      body: (count: number) =>
        `Lets ${people(count)} sign in. Those with a confirmed address receive a mail.`,
      done: (count: number) => `Approved ${people(count)}.`,
    },
    refuse: {
      title: (count: number) => `Refuse ${people(count)}`,
      body: (count: number) =>
        `Deletes the registrations of ${people(count)} for good. Those with a confirmed address receive a mail.`,
      done: (count: number) => `Refused ${people(count)}.`,
    },
  },
}
