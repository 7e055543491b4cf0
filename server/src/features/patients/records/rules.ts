/** What no schema can say of a patient's fields. */
import { type Clock, HOUR } from '../../../lib/clock.ts'
import type { Refuse } from '../../../lib/problems.ts'
import { normalIdentifier } from '../search/normal.ts'
import { normalPair } from '../search/tokens.ts'
import type { PatientFields } from './fields.ts'

const EARLIEST_BIRTH = '1850-01-01'
/** Where the day begins first (UTC+14). */
const EARLIEST_ZONE = 14 * HOUR

/** Refuses births that nobody has had, and identifiers that say the same twice or nothing. */
export function checkFields(
  { birth_date, identifiers = [] }: Partial<PatientFields>,
  clock: Clock,
  refuse: Refuse,
): void {
  if (birth_date) refuse(['body', 'birth_date'], birthIssue(birth_date, clock))
  const known = new Set<string>()
  for (const [index, identifier] of identifiers.entries()) {
    const at = ['body', 'identifiers', String(index)]
    const pair = normalPair(identifier)
    if (known.has(pair)) refuse(at, 'the identifier is there twice')
    known.add(pair)
    for (const part of ['system', 'value'] as const)
      if (normalIdentifier(identifier[part]) === '')
        refuse([...at, part], 'more than spaces, dots and dashes is needed')
  }
}

function birthIssue(date: string, clock: Clock): string | undefined {
  if (date < EARLIEST_BIRTH) return `a birth before ${EARLIEST_BIRTH} is not taken`
  const latest = new Date(clock.now() + EARLIEST_ZONE).toISOString().slice(0, 10)
  return date > latest ? 'the birth is in the future' : undefined
}
