/** The labels of the buttons for several selected users. */
export const bulkLabels = {
  block: 'Block',
  unblock: 'Unblock',
  endSessions: 'End sessions',
  approve: 'Approve',
  refuse: 'Refuse',
}

/** A change of several selected users. */
export type BulkAct = keyof typeof bulkLabels
