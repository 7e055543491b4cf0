/**
 * Normalizes the texts that patients are searched by, so that equivalent spellings become equal (`lib/fold.ts`). Stored
 * search tokens are hashes of normalized text, so every change of this module must increment `FOLD_VERSION`.
 */
import { withAsciiDomain } from '../../../lib/email.ts'
import { foldText, foldWords } from '../../../lib/fold.ts'

/** Returns the folded words of a name in sorted order. Empty if the name has no letter, digit or symbol. */
export const normalName = foldWords

/** Returns an identifier, or part of an identifier, folded and without spaces, dots and dashes. */
export const normalIdentifier = (text: string): string =>
  foldText(text).replaceAll(/[\s\p{Z}.\p{Pd}\u2212]+/gu, '')

/** Returns a phone number without spaces and punctuation. Keeps plus signs. */
export const normalPhone = (phone: string): string =>
  foldText(phone).replaceAll(/[\s\p{Z}\p{P}\u2212]+/gu, '')

/** Returns an e-mail address folded, without spaces and with its domain in ASCII. */
export const normalMail = (mail: string): string =>
  foldText(withAsciiDomain(mail)).replaceAll(/[\s\p{Z}]+/gu, '')
