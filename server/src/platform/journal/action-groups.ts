/** Derives from the registry the groups of actions and the resource types of their entries. */
import type { ActionExample } from './action-examples.ts'
import { ACTIONS, type Action } from './actions.ts'

interface RegisteredAction {
  meaning: string
  example?: ActionExample
}

type GroupOf<A extends string> = A extends `${infer Group}.${string}` ? Group : never

/** The noun at the start of an action, such as `user` in `user.blocked`. */
export type ActionGroup = GroupOf<Action>

export const groupOf = (action: Action): ActionGroup => action.split('.')[0] as ActionGroup

/** All groups without duplicates, in the order of the registry. */
export const ACTION_GROUPS: readonly ActionGroup[] = [
  ...new Set((Object.keys(ACTIONS) as Action[]).map(groupOf)),
]

/** Resource types of groups and actions without an example, whose resource is not named like the group. */
const OTHER_TYPES: Partial<Record<ActionGroup | Action, string>> = {
  outbound: 'installation',
  access: 'operation',
  messenger: 'user',
  audit: 'audit_log',
  'audit.key_rotated': 'audit_key',
  'auth.key_rotated': 'signing_key',
}

/** Returns the resource type of the action's entries. A test compares it with real entries. */
export function resourceTypeOf(action: Action): string {
  const { example }: RegisteredAction = ACTIONS[action]
  const group = groupOf(action)
  return example?.resource_type ?? OTHER_TYPES[action] ?? OTHER_TYPES[group] ?? group
}
