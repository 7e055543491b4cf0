/** A change to a user that asks for confirmation in a dialog. */
export type UserAct =
  | 'edit'
  | 'changeRole'
  | 'setPassword'
  | 'block'
  | 'invite'
  | 'removeFactor'
  | 'endSessions'
  | 'delete'
