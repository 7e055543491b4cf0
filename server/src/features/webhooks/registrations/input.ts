/** The input of webhooks: the rules that a schema cannot express, and the part of a URL that may be shown. */

import { isBadlyPasted } from '../../../lib/pasted.ts'
import type { Refuse } from '../../../lib/problems.ts'
import { checkUrl, type TargetPolicy } from '../../../platform/net/index.ts'
import { signingKeyOf } from '../sending/signature.ts'
import { MAX_URL_LENGTH, type NewWebhook } from '../webhooks.schema.ts'

const TOO_LONG = `must have at most ${MAX_URL_LENGTH} characters when percent-encoded`
const NO_KEY = 'must be whsec_ followed by 24 to 64 bytes in base64'
const BADLY_PASTED = 'has spaces, quotes or line breaks around it. Send the secret only'
const PREFIX_ELSEWHERE = 'must start with whsec_ in lower case'

/** Rejects a forbidden URL and an invalid secret. Returns the URL to store, normalised and without its fragment. */
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

/**
 * Returns the error message for a malformed `whsec_` secret. Returns undefined if the secret is valid. A malformed
 * secret would sign with another key than the receiver's library expects.
 */
function faultOf(secret: string): string | undefined {
  if (isBadlyPasted(secret)) return BADLY_PASTED
  if (/whsec_/i.test(secret) && !secret.startsWith('whsec_')) return PREFIX_ELSEWHERE
  return signingKeyOf(secret) ? undefined : NO_KEY
}

const hintFor = (isPolicy: boolean | undefined): string =>
  isPolicy ? '. The operator can allow it with WEBHOOK_ALLOW_HTTP and WEBHOOK_ALLOWED_NETWORKS' : ''

/** Returns a webhook's URL for the journal and the log: without path and query, which often contain a secret. */
export function shownUrl(url: string): string {
  return `${new URL(url).origin}/…`
}
