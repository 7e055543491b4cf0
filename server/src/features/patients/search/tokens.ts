/** The blind index: search tokens of patients, which can be computed only with the tenant's data key. */
import type { TenantKeys } from '../../../platform/crypto/index.ts'
import type { Identifier, PatientFields, SealedField } from '../records/fields.ts'
import { normalIdentifier, normalMail, normalName, normalPhone } from './normalize.ts'

/** The kinds of search tokens, with their numbers in the table. The same text has a different token for each kind. */
export const KINDS = { name: 1, birth: 2, value: 3, identifier: 4, phone: 5, mail: 6 } as const
type Kind = keyof typeof KINDS

export interface PatientToken {
  patient_id: number
  kind: number
  token: Buffer
  data_key_id: number
}

/** The kinds of search tokens that each field produces. */
const KINDS_OF: Partial<Record<SealedField, readonly Kind[]>> = {
  full_name: ['name'],
  birth_date: ['birth'],
  identifiers: ['value', 'identifier'],
  phone: ['phone'],
  email: ['mail'],
}

/** Returns the numbers of the token kinds that these fields produce. */
export function kindsOf(fields: readonly SealedField[]): number[] {
  return fields.flatMap((field) => KINDS_OF[field] ?? []).map((kind) => KINDS[kind])
}

/** Returns a unique text for a pair of system and value. Only the value may contain `|` (see `Identifier`). */
export const normalPair = ({ system, value }: Identifier) =>
  `${normalIdentifier(system)}|${normalIdentifier(value)}`

/** Returns the normalized texts by which a patient can be found, with their token kinds. */
function textsOf(fields: Partial<PatientFields>): [Kind, string][] {
  const { full_name = '', birth_date, identifiers = [], phone, email } = fields
  const texts: [Kind, string][] = [
    ['name', normalName(full_name)],
    ['birth', birth_date ?? ''],
    ['phone', normalPhone(phone ?? '')],
    ['mail', normalMail(email ?? '')],
    ...identifiers.map(({ value }): [Kind, string] => ['value', normalIdentifier(value)]),
    ...identifiers.map((one): [Kind, string] => ['identifier', normalPair(one)]),
  ]
  return texts.filter(([, text]) => text !== '')
}

/** Returns the distinct search tokens of a patient, either for the current data key or for every key not deleted. */
export function tokensOf(
  keys: TenantKeys,
  patient_id: number,
  fields: Partial<PatientFields>,
  by: 'living' | 'current' = 'living',
): PatientToken[] {
  const made = new Map<string, PatientToken>()
  for (const [kind, text] of textsOf(fields))
    for (const { keyId: data_key_id, token } of tokensUnder(keys, kind, text, by))
      made.set(token.toString('hex'), { patient_id, kind: KINDS[kind], token, data_key_id })
  return [...made.values()]
}

const tokensUnder = (
  keys: TenantKeys,
  kind: Kind,
  text: string,
  by: 'living' | 'current' = 'living',
) => keys.tokens(`patients.${kind}`, text, by)

/** Returns tokens for each possible meaning of `search`: a name, an identifier, a phone number or an e-mail address. */
export function tokensOfSearch(keys: TenantKeys, search: string): Buffer[] {
  const texts: [Kind, string][] = [
    ['name', normalName(search)],
    ['value', normalIdentifier(search)],
    ['identifier', normalIdentifier(search)],
    ['phone', normalPhone(search)],
    ['mail', normalMail(search)],
  ]
  return bare(
    texts.filter(([, text]) => text !== ''),
    keys,
  )
}

export const tokensOfName = (keys: TenantKeys, name: string): Buffer[] =>
  bare([['name', normalName(name)]], keys)
export const tokensOfBirth = (keys: TenantKeys, date: string): Buffer[] =>
  bare([['birth', date]], keys)
export const tokensOfIdentifier = (keys: TenantKeys, identifier: Identifier): Buffer[] =>
  bare([['identifier', normalPair(identifier)]], keys)

function bare(texts: [Kind, string][], keys: TenantKeys): Buffer[] {
  return texts.flatMap(([kind, text]) => tokensUnder(keys, kind, text).map(({ token }) => token))
}
