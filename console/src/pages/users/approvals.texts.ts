/** Texts of the page "Approvals". */
export const approvalsTexts = {
  title: 'Approvals',
  caption: 'People who wait for approval',
  back: 'All users',
  since: 'Since',
  confirmed: 'E-mail confirmed',
  yes: 'Yes',
  notYet: 'Not yet',
  acts: 'Decision',
  approve: 'Approve',
  approveOf: (name: string) => `Approve ${name}`,
  refuse: 'Refuse',
  refuseOf: (name: string) => `Refuse ${name}`,
  empty: 'Nobody is waiting',
  emptyBody: 'People who register themselves appear here until someone decides.',
}
