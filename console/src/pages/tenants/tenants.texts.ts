import { formatCount, formatNumber } from '../../words/numbers.ts'

/** The maximum number of users that the API counts exactly. It returns one more if there are more. */
const MAX_COUNTED = 10_000

/** Texts of the page "Clinics". */
export const tenantTexts = {
  title: 'Clinics',
  search: 'Name or subdomain of a clinic',
  searchHint: 'Search looks in names and subdomains.',
  name: 'Name',
  subdomain: 'Subdomain',
  state: 'Status',
  anyState: 'Not deleted',
  users: 'Users',
  usersOf: (users: number) =>
    users > MAX_COUNTED ? `more than ${formatNumber(MAX_COUNTED)}` : formatNumber(users),
  created: 'Created',
  deleted: 'Deleted',
  restorable: 'Can be restored until',
  purging: 'Its data is being purged. It can no longer be restored.',
  emptyTitle: 'No clinics yet',
  empty: 'Each clinic has its own users, patients and keys.',
  notFoundTitle: 'Clinic not found',
  notFound: 'This clinic was deleted, or it never existed.',
  links: 'Open',
  overview: 'Overview',
  settings: 'Clinic settings',
  audit: 'Audit log',
  add: {
    open: 'Add clinic',
    busy: 'Adding…',
    subdomainHint: 'Lower-case letters, digits and hyphens. It cannot be changed later.',
    taken: 'Another clinic has this subdomain. Deleted clinics keep theirs until they are purged.',
    done: (name: string) => `Added ${name}. Add its first administrator under Users.`,
  },
  activate: {
    open: 'Activate',
    done: (name: string) => `Activated ${name}.`,
  },
  deactivate: {
    open: 'Deactivate',
    title: (name: string) => `Deactivate ${name}`,
    body: (users: number | undefined) =>
      users === undefined || users > MAX_COUNTED
        ? 'Its users are signed out at once and cannot sign in until you activate the clinic again.'
        : `Its ${formatCount(users, 'user is', 'users are')} signed out at once and cannot sign in until you activate the clinic again.`,
    done: (name: string) => `Deactivated ${name}.`,
  },
  remove: {
    open: 'Delete',
    title: (name: string) => `Delete ${name}`,
    body: (users: number | undefined) =>
      users === undefined || users > MAX_COUNTED
        ? 'Its users are signed out at once.'
        : `Its ${formatCount(users, 'user is', 'users are')} signed out at once.`,
    way: 'You can restore the clinic until its data is purged. The list of deleted clinics shows the date.',
    done: (name: string) => `Deleted ${name}.`,
  },
  restore: {
    open: 'Restore',
    title: (name: string) => `Restore ${name}`,
    body: 'Its users can sign in again. Sessions from before the deletion stay ended.',
    done: (name: string) => `Restored ${name}.`,
  },
}
