/** Validation rules for a patient's fields that a JSON schema cannot express. */
import { type Clock, HOUR } from '../../../lib/clock.ts'
import type { Refuse } from '../../../lib/problems.ts'
import { normalIdentifier } from '../search/normalize.ts'
import { normalPair } from '../search/tokens.ts'
import type { PatientFields } from './fields.ts'

const EARLIEST_BIRTH = '1850-01-01'
/** The offset of UTC+14, the first time zone in which a new day begins. */
const EARLIEST_ZONE = 14 * HOUR

/** Rejects impossible birth dates, duplicate identifiers and empty identifiers. */
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
    if (known.has(pair)) refuse(at, 'duplicate identifier')
    known.add(pair)
    for (const part of ['system', 'value'] as const)
      if (normalIdentifier(identifier[part]) === '')
        refuse([...at, part], 'must contain at least one letter or digit')
  }
}

function birthIssue(date: string, clock: Clock): string | undefined {
  if (date < EARLIEST_BIRTH) return `the birth date must not be before ${EARLIEST_BIRTH}`
  const latest = new Date(clock.now() + EARLIEST_ZONE).toISOString().slice(0, 10)
  return date > latest ? 'the birth date must not be in the future' : undefined
}
