/** What is wrong with the input for a webhook beyond what its schema can say. */
import { type Fault, invalidValue } from '../../../lib/problems.ts'
import { judgeUrl, type TargetPolicy } from '../../../platform/net/index.ts'
import { keyOf } from '../sending/signature.ts'
import { LONGEST_URL } from '../webhooks.schema.ts'

const LOC = { url: ['body', 'url'], secret: ['body', 'secret'] }
const TOO_LONG = `must have at most ${LONGEST_URL} characters once encoded`
const NO_KEY = 'behind whsec_ there must be 24 to 64 bytes in base64'

/** The faults of a body as it came; of what the schema refuses already, nothing more is said. */
export function inputFaults(body: unknown, policy: TargetPolicy): readonly Fault[] {
  const { url, secret } = (body ?? {}) as { url?: unknown; secret?: unknown }
  const judged = typeof url === 'string' && URL.canParse(url) ? readUrl(url, policy) : undefined
  return [
    ...(judged && 'refusal' in judged ? invalidValue(LOC.url, judged.refusal).faults : []),
    ...(typeof secret === 'string' && !keyOf(secret)
      ? invalidValue(LOC.secret, NO_KEY).faults
      : []),
  ]
}

/** The URL as it is kept: normalised, without its fragment. @throws InvalidInput */
export function keptUrl(text: string, policy: TargetPolicy): string {
  const judged = readUrl(text, policy)
  if ('refusal' in judged) throw invalidValue(LOC.url, judged.refusal)
  return judged.href
}

function readUrl(text: string, policy: TargetPolicy): { href: string } | { refusal: string } {
  const judged = judgeUrl(text, policy)
  if ('refusal' in judged) return judged
  const { href } = judged.url
  return href.length > LONGEST_URL && text.length <= LONGEST_URL ? { refusal: TOO_LONG } : { href }
}
