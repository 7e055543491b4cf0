import type { Finding } from './fix.ts'

/** The id that a finding's subject ends with, such as `12` of "department 12". */
export const idIn = ({ subject }: Pick<Finding, 'subject'>): string =>
  subject.slice(subject.lastIndexOf(' ') + 1)
