import { formatCount } from '../../words/numbers.ts'

const members = (count: number) => formatCount(count, 'member', 'members')

/** Texts of the page "Departments". */
export const departmentTexts = {
  title: 'Departments',
  search: 'Name of a department',
  searchHint: 'Search looks in the names of departments.',
  emptyTitle: 'No departments yet',
  empty: 'Staff see the patients of their own department.',
  name: 'Name',
  head: 'Head doctor',
  noHead: 'No head doctor',
  members: 'Members',
  membersOf: (count: number, department: string) => `${members(count)} of ${department}`,
  created: 'Created',
  department: 'Department',
  notFoundTitle: 'Department not found',
  notFound: 'This department was deleted, or it belongs to another clinic.',
  nameMissing: 'Enter a name.',
  nameTaken: 'Another department has this name. Choose a different one.',
  headHint: 'An active doctor of this clinic.',
  saving: 'Saving…',
  notUndone: (reason: string) => `This could not be undone. ${reason}`,
  add: {
    open: 'Add department',
    busy: 'Adding…',
    done: (name: string) => `Added ${name}.`,
  },
  rename: {
    open: 'Rename',
    title: (name: string) => `Rename ${name}`,
    submit: 'Rename department',
    body: (count: number) =>
      count === 0
        ? 'The new name shows at once.'
        : `Its ${members(count)} ${count === 1 ? 'sees' : 'see'} the new name at once.`,
    done: (name: string) => `Renamed to ${name}.`,
    undone: (name: string) => `Named ${name} again.`,
  },
  changeHead: {
    open: 'Change head',
    title: (name: string) => `Change the head of ${name}`,
    submit: 'Change head',
    done: (head: string, name: string) => `${head} heads ${name}.`,
    removed: (name: string) => `${name} has no head doctor.`,
    undone: 'The former head is back.',
  },
  remove: {
    open: 'Delete',
    title: (name: string) => `Delete ${name}`,
    membersStay: (count: number) =>
      count === 0
        ? 'It has no members.'
        : `Its ${members(count)} ${count === 1 ? 'stays' : 'stay'}, without a department: they see no patients unless they see the whole clinic.`,
    patientsStay:
      'All of its patients stay, without a department: only people who see the whole clinic see them.',
    advice:
      'Move the members and patients to another department first. A deleted department does not come back.',
    showMembers: 'Show its members',
    done: (name: string) => `Deleted ${name}.`,
  },
}
