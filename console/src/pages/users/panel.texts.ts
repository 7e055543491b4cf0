import type { Role } from '../../words/roles.ts'

/** The permissions of each role, in one sentence. */
export const roleMeanings: Readonly<Record<Role, string>> = {
  superadmin: 'Runs the platform and manages every clinic. Sees no patient records.',
  admin: 'Manages people, departments, connections and backups of the clinic.',
  doctor: 'Reads and edits patient records, clinical fields included.',
  nurse: 'Reads and edits patient records, clinical fields included.',
  receptionist: 'Keeps the contact details of patients. Sees no clinical fields.',
  auditor: 'Reads users, the audit log and payments. Changes nothing.',
}

/** Texts of the panel of one user. */
export const panelTexts = {
  loading: 'Loading',
  tabsLabel: 'About this person',
  tabs: { profile: 'Profile', access: 'Access', sessions: 'Sessions', history: 'History' },
  missingTitle: 'Not found',
  missing: 'This person does not exist here. The account may have been deleted.',
  profile: {
    status: 'Status',
    name: 'Name',
    email: 'E-mail',
    department: 'Department',
    lastSignIn: 'Last sign-in',
    created: 'Created',
  },
  access: {
    role: 'Role',
    sees: 'Sees patients of',
    wholeClinic: 'The whole clinic',
    noDepartment: 'No one, without a department',
    noPatients: 'No one',
    factor: 'Second factor',
    confirmed: 'E-mail confirmed',
    yes: 'Yes',
    notYet: 'Not yet',
    password: 'Password change',
    mustChange: 'Due at the next sign-in',
    notDue: 'Not due',
  },
  sessions: {
    none: 'Not signed in anywhere.',
    current: 'This session',
    startedAgo: 'Signed in',
    lastUsed: 'last used',
    end: 'End session',
    endOf: (device: string) => `End the session of ${device}`,
    endBody: (device: string) =>
      `${device} is signed out within a second. It can sign in again with the password.`,
    ended: 'Session ended.',
  },
  history: {
    none: 'Nothing has been recorded about this person yet.',
    more: 'All entries about this person',
  },
  own: 'This is your account. Your password, second factor and sessions are under',
  ownLink: 'My account',
  superadmin: 'Only a superadmin can change this account.',
}
