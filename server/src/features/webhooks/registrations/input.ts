/** The rules for the input of webhooks that no schema can say. */

import { isBadlyPasted } from '../../../lib/pasted.ts'
import type { Refuse } from '../../../lib/problems.ts'
import { checkUrl, type TargetPolicy } from '../../../platform/net/index.ts'
import { keyOf } from '../sending/signature.ts'
import { MAX_URL_LENGTH, type NewWebhook } from '../webhooks.schema.ts'

const TOO_LONG = `must have at most ${MAX_URL_LENGTH} characters once encoded`
const NO_KEY = 'behind whsec_ there must be 24 to 64 bytes in base64'
const BADLY_PASTED = 'has blanks, quotes or line breaks around it. Paste the secret alone'
const PREFIX_ELSEWHERE = 'whsec_ must stand at the beginning of the secret, in lower case'

/** Refuses a forbidden URL and a secret without a key. Returns the URL as it is kept: normalised, without its fragment. */
export function refineInput(
  { url, secret }: Partial<NewWebhook>,
  policy: TargetPolicy,
  refuse: Refuse,
): { url?: string } {
  refuse(['body', 'secret'], secret === undefined ? undefined : faultOf(secret))
  if (url === undefined) return {}
  const judged = checkUrl(url, policy)
  if ('refusal' in judged) {
    refuse(['body', 'url'], judged.refusal + hintFor(judged.isPolicy))
    return {}
  }
  const { href } = judged.url
  if (href.length > MAX_URL_LENGTH) refuse(['body', 'url'], TOO_LONG)
  return { url: href }
}

/** Anything that is almost a `whsec_` secret would sign by another key than the receiver's library expects. */
function faultOf(secret: string): string | undefined {
  if (isBadlyPasted(secret)) return BADLY_PASTED
  if (/whsec_/i.test(secret) && !secret.startsWith('whsec_')) return PREFIX_ELSEWHERE
  return keyOf(secret) ? undefined : NO_KEY
}

const hintFor = (isPolicy: boolean | undefined): string =>
  isPolicy ? '. The operator can allow it with WEBHOOK_ALLOW_HTTP and WEBHOOK_ALLOWED_NETWORKS' : ''
