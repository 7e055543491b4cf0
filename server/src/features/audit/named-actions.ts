/** Reads which actions the audit log is asked for: names and groups, such as `user.blocked,auth.*`. */
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
/** More names than there are groups have no use. */
const MAX_NAMES = 50

/** The parameters of a query that select actions. */
interface ActionFilter {
  /** Names and groups; each value may hold several with commas between them. */
  action?: readonly string[]
  group?: readonly ActionGroup[]
}

/**
 * Returns the actions that match any of the names and groups; undefined if the query has no such filter. Refuses
 * unknown names.
 */
export function namedActions(
  { action, group }: ActionFilter,
  refuse: Refuse,
): Action[] | undefined {
  if (action === undefined && group === undefined) return undefined
  const names = (action ?? []).flatMap((value) => value.split(',')).map((name) => name.trim())
  if (names.length > MAX_NAMES)
    refuse(['query', 'action'], `name at most ${MAX_NAMES} actions and groups`)
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
  const help = meant ? `did you mean ${meant}?` : `the groups are ${GROUPS.join(', ')}`
  return `unknown action ${JSON.stringify(name.slice(0, 100))}; ${help}`
}
