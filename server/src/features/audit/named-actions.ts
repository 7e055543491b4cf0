/** Reads which actions the audit log is asked for: names and groups, such as `user.blocked,auth.*`. */
import type { Refuse } from '../../lib/problems.ts'
import { misspelt } from '../../lib/spelling.ts'
import { ACTIONS } from '../../platform/journal/index.ts'

const NAMES = Object.keys(ACTIONS)
const GROUPS = [...new Set(NAMES.map((name) => `${name.split('.')[0]}.*`))]
/** More would make no sense: there are not as many groups. */
const MAX_NAMES = 50

/** Returns the actions that a list of names and groups means; undefined for none. Refuses unknown ones. */
export function namedActions(given: string | undefined, refuse: Refuse): string[] | undefined {
  if (given === undefined) return undefined
  const names = given.split(',').map((name) => name.trim())
  if (names.length > MAX_NAMES)
    refuse(['query', 'action'], `name at most ${MAX_NAMES} actions and groups`)
  for (const name of new Set(names.slice(0, MAX_NAMES)))
    if (!NAMES.includes(name) && !GROUPS.includes(name))
      refuse(['query', 'action'], sentenceFor(name))
  return NAMES.filter((name) => names.includes(name) || names.includes(`${name.split('.')[0]}.*`))
}

function sentenceFor(name: string): string {
  const meant = misspelt(name, [...NAMES, ...GROUPS])
  const help = meant ? `did you mean ${meant}?` : `the groups are ${GROUPS.join(', ')}`
  return `unknown action ${JSON.stringify(name.slice(0, 100))}; ${help}`
}
