/** Parses the action filter of the audit log, which contains actions and groups, such as `user.blocked,auth.*`. */
import type { Refuse } from '../../lib/problems.ts'
import { misspelt } from '../../lib/spelling.ts'
import {
  ACTION_GROUPS,
  ACTIONS,
  type Action,
  type ActionGroup,
  groupOf,
} from '../../platform/journal/index.ts'

const NAMES = Object.keys(ACTIONS) as Action[]
const GROUPS = ACTION_GROUPS.map((group) => `${group}.*`)
/** The maximum number of actions and groups in a filter. There are fewer groups than this, so no filter needs more. */
const MAX_NAMES = 50

interface ActionFilter {
  /** Actions and groups. Each value may contain several of them, separated by commas. */
  action?: readonly string[]
  group?: readonly ActionGroup[]
}

/** Returns the actions of the names and groups; undefined without a filter. Calls `refuse` for each unknown name. */
export function namedActions(
  { action, group }: ActionFilter,
  refuse: Refuse,
): Action[] | undefined {
  if (action === undefined && group === undefined) return undefined
  const names = (action ?? []).flatMap((value) => value.split(',')).map((name) => name.trim())
  if (names.length > MAX_NAMES)
    refuse(['query', 'action'], `send at most ${MAX_NAMES} actions and groups`)
  for (const name of new Set(names.slice(0, MAX_NAMES)))
    if (!NAMES.some((known) => known === name) && !GROUPS.includes(name))
      refuse(['query', 'action'], sentenceFor(name))
  const isNamed = (known: Action) =>
    names.includes(known) ||
    names.includes(`${groupOf(known)}.*`) ||
    group?.includes(groupOf(known))
  return NAMES.filter(isNamed)
}

function sentenceFor(name: string): string {
  const meant = misspelt(name, [...NAMES, ...GROUPS])
  const help = meant ? `Did you mean ${meant}?` : `The groups are ${GROUPS.join(', ')}`
  return `unknown action ${JSON.stringify(name.slice(0, 100))}. ${help}`
}
