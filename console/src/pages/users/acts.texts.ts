import { formatCount } from '../../words/numbers.ts'
import { shortName } from '../../words/short-name.ts'

/** Returns a sentence about how many sessions a change ends. Undefined means that the number is not known yet. */
function signsOut(sessions: number | undefined): string {
  if (sessions === undefined) return 'Signs out every session within a second.'
  if (sessions === 0) return 'Not signed in anywhere now.'
  return `Signs out ${formatCount(sessions, 'session', 'sessions')} within a second.`
}

function ifChanged(sessions: number | undefined): string {
  if (sessions === 0) return 'This person is not signed in anywhere now.'
  const count =
    sessions === undefined ? 'every session' : formatCount(sessions, 'session', 'sessions')
  return `The change signs out ${count} within a second.`
}

/**
 * Returns a sentence for the head of a department. Only doctors can be heads, and only the departments page changes the
 * head.
 */
const staysHead = (isDoctor: boolean): string =>
  isDoctor ? ' A head of department stays the head.' : ''

/** Texts of the actions on a single user. */
export const actTexts = {
  edit: 'Edit',
  block: 'Block',
  unblock: 'Unblock',
  approve: 'Approve',
  refuse: 'Refuse',
  more: (name: string) => `More for ${shortName(name)}`,
  changeRole: 'Change role',
  setPassword: 'Set password',
  invite: 'Send password link',
  removeFactor: 'Remove second factor',
  endSessions: 'End all sessions',
  delete: 'Delete',
  confirm: {
    block: {
      title: (name: string) => `Block ${shortName(name)}`,
      body: (sessions: number | undefined, isDoctor: boolean) =>
        `${signsOut(sessions)}${staysHead(isDoctor)} Anyone with your role can unblock.`,
      done: (name: string) => `Blocked ${shortName(name)}.`,
    },
    endSessions: {
      title: () => 'End all sessions',
      body: (sessions: number | undefined) =>
        `${signsOut(sessions)} Signing in again works at once.`,
      done: (name: string) => `Signed out ${shortName(name)} everywhere.`,
    },
    removeFactor: {
      title: () => 'Remove second factor',
      body: (sessions: number | undefined) =>
        `${signsOut(sessions)} Afterwards the password alone signs in, until a new second factor is set up. A mail tells the person about the change.`,
      done: (name: string) => `Removed the second factor of ${shortName(name)}.`,
    },
    invite: {
      title: () => 'Send password link',
      body: (email: string) =>
        `A mail to ${email} has a link to choose a password. It works for 7 days, and earlier links stop working.`,
      done: (email: string) => `Sent a link to ${email}.`,
    },
  },
  remove: {
    title: (name: string) => `Delete ${shortName(name)}`,
    body: (sessions: number | undefined) =>
      `${signsOut(sessions)} The account is deleted for good, and with it the places as head of department and attending doctor. The audit log keeps what was done.`,
    done: (name: string) => `Deleted ${shortName(name)}.`,
    refuseTitle: (name: string) => `Refuse ${shortName(name)}`,
    refuseBody: (isConfirmed: boolean) =>
      `The registration is deleted for good. ${
        isConfirmed
          ? 'A mail tells the person about the refusal.'
          : 'No mail is sent, because the address is not confirmed.'
      }`,
    refused: (name: string) => `Refused ${shortName(name)}.`,
  },
  unblocked: (name: string) => `Unblocked ${shortName(name)}.`,
  approved: (name: string) => `Approved ${shortName(name)}.`,
  role: {
    current: 'Role now',
    label: 'New role',
    choose: 'Choose a role',
    submit: 'Change role',
    busy: 'Changing the role…',
    consequence: (sessions: number | undefined, wasDoctor: boolean) =>
      `${signsOut(sessions)}${staysHead(wasDoctor)}`,
    done: (name: string, role: string) => `${shortName(name)} now has the role ${role}.`,
  },
  password: {
    label: 'New password',
    consequence: (sessions: number | undefined) =>
      `${signsOut(sessions)} A mail tells the person about the change, without the password.`,
    mustChange: 'Has to be changed at the next sign-in',
    submit: 'Set password',
    busy: 'Setting the password…',
    done: (name: string) => `Set a new password for ${shortName(name)}.`,
  },
  form: {
    editTitle: (name: string) => `Edit ${shortName(name)}`,
    addTitle: 'Add user',
    name: 'Name',
    email: 'E-mail',
    emailHint: (isOwn: boolean, sessions: number | undefined) =>
      isOwn
        ? 'A new address gets a link that confirms it, and signs you out here and everywhere else.'
        : `A new address gets a link that confirms it. ${ifChanged(sessions)}`,
    department: 'Department',
    noDepartment: 'None',
    seesAll: 'Sees the patients of the whole clinic',
    save: 'Save changes',
    saving: 'Saving…',
    unchanged: 'Nothing was changed.',
    saved: (name: string) => `Saved the changes of ${shortName(name)}.`,
    role: 'Role',
    chooseRole: 'Choose a role',
    start: 'First sign-in',
    byInvitation: 'By a link in a mail, which works for 7 days',
    byPassword: 'With a password that you set',
    password: 'Password',
    add: 'Add user',
    adding: 'Adding…',
    emailTaken: 'Someone in this clinic already has this address.',
    invited: (email: string) => `Sent an invitation to ${email}.`,
    added: (name: string) => `Added ${shortName(name)}.`,
  },
}
