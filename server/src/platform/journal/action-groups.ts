/** The groups of actions and the resources that they are about, derived from the registry. */
import type { ActionExample } from './action-examples.ts'
import { ACTIONS, type Action } from './actions.ts'

interface RegisteredAction {
  meaning: string
  example?: ActionExample
}

type GroupOf<A extends string> = A extends `${infer Group}.${string}` ? Group : never

/** The noun that an action begins with, such as `user` in `user.blocked`. */
export type ActionGroup = GroupOf<Action>

/** Returns the group of an action. */
export const groupOf = (action: Action): ActionGroup => action.split('.')[0] as ActionGroup

/** Every group once, in the order of the registry. */
export const ACTION_GROUPS: readonly ActionGroup[] = [
  ...new Set((Object.keys(ACTIONS) as Action[]).map(groupOf)),
]

/** The resource types of groups and actions that have no example and are about something other than their group's noun. */
const OTHER_TYPES: Partial<Record<ActionGroup | Action, string>> = {
  outbound: 'installation',
  access: 'operation',
  messenger: 'user',
  audit: 'audit_log',
  'auth.key_rotated': 'signing_key',
}

/** Returns the type of the resource that entries of the action are about. A test compares it with real entries. */
export function resourceTypeOf(action: Action): string {
  const { example }: RegisteredAction = ACTIONS[action]
  const group = groupOf(action)
  return example?.resource_type ?? OTHER_TYPES[action] ?? OTHER_TYPES[group] ?? group
}
