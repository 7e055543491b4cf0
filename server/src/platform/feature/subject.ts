import type { Finding } from './fix.ts'

/** Returns the id at the end of a finding's subject, such as `12` for "department 12". */
export const idIn = ({ subject }: Pick<Finding, 'subject'>): string =>
  subject.slice(subject.lastIndexOf(' ') + 1)
