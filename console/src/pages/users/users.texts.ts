import { formatCount, formatNumber } from '../../words/numbers.ts'

const people = (count: number): string => formatCount(count, 'person', 'people')

/** Texts of the page "Users" and of its list. */
export const usersTexts = {
  title: 'Users',
  caption: 'Users',
  approvals: (count: number) => `${formatNumber(count)} waiting for approval`,
  noneWaiting: 'Approvals',
  add: 'Add user',
  search: 'Name or e-mail',
  columns: {
    name: 'Name',
    email: 'E-mail',
    role: 'Role',
    department: 'Department',
    status: 'Status',
    factor: 'Second factor',
    lastSignIn: 'Last sign-in',
  },
  filters: {
    role: 'Role',
    anyRole: 'Any role',
    status: 'Status',
    anyStatus: 'Any status',
    department: 'Department',
    anyDepartment: 'Any department',
    factor: 'Second factor',
    anyFactor: 'Any second factor',
    factorOn: 'With second factor',
    factorOff: 'Without second factor',
  },
  unknownDepartment: (id: number) => `Department ${id}`,
  noDepartment: 'None',
  nothingFound: 'The search looks in names and e-mail addresses.',
  empty: 'No users yet',
  emptyBody: 'People of your clinic sign in with the accounts that you add here.',
  alreadyDecided: 'Someone else has already decided about this registration.',
  people,
}
