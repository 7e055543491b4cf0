/** A change of a user that asks in a dialog first. */
export type UserAct =
  | 'edit'
  | 'changeRole'
  | 'setPassword'
  | 'block'
  | 'invite'
  | 'removeFactor'
  | 'endSessions'
  | 'delete'
