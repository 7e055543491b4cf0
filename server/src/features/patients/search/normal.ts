/**
 * The one spelling of what patients are found by: two texts that mean the same become the same, so that equality finds
 * them (`lib/fold.ts`). Stored tokens are made with it: raise `FOLD_VERSION` with every change.
 */
import { withAsciiDomain } from '../../../lib/email.ts'
import { foldText, foldWords } from '../../../lib/fold.ts'

/** The words of a folded name in one order. Empty for a name without a letter, digit or symbol. */
export const normalName = foldWords

/** An identifier, or a part of one, without blanks, dots and dashes. */
export const normalIdentifier = (text: string): string =>
  foldText(text).replaceAll(/[\s\p{Z}.\p{Pd}\u2212]+/gu, '')

/** A phone number without blanks and punctuation; its plus stays. */
export const normalPhone = (phone: string): string =>
  foldText(phone).replaceAll(/[\s\p{Z}\p{P}\u2212]+/gu, '')

/** An e-mail address: all of its signs count, and its domain in ASCII. */
export const normalMail = (mail: string): string =>
  foldText(withAsciiDomain(mail)).replaceAll(/[\s\p{Z}]+/gu, '')
