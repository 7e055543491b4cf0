/** The rules for the input of webhooks that no schema can say. */
import type { Refuse } from '../../../lib/problems.ts'
import { checkUrl, type TargetPolicy } from '../../../platform/net/index.ts'
import { keyOf } from '../sending/signature.ts'
import { MAX_URL_LENGTH, type NewWebhook } from '../webhooks.schema.ts'

const TOO_LONG = `must have at most ${MAX_URL_LENGTH} characters once encoded`
const NO_KEY = 'behind whsec_ there must be 24 to 64 bytes in base64'

/** Refuses a forbidden URL and a secret without a key. Returns the URL as it is kept: normalised, without its fragment. */
export function refineInput(
  { url, secret }: Partial<NewWebhook>,
  policy: TargetPolicy,
  refuse: Refuse,
): { url?: string } {
  if (secret !== undefined && !keyOf(secret)) refuse(['body', 'secret'], NO_KEY)
  if (url === undefined) return {}
  const judged = checkUrl(url, policy)
  if ('refusal' in judged) {
    refuse(['body', 'url'], judged.refusal)
    return {}
  }
  const { href } = judged.url
  if (href.length > MAX_URL_LENGTH) refuse(['body', 'url'], TOO_LONG)
  return { url: href }
}
