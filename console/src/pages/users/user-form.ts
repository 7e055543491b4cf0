/** Limits and refusals that the forms for new and existing users share. */
import type { ApiError } from '../../api/problem.ts'
import { faultAt } from '../../parts/form-faults.ts'
import { actTexts } from './acts.texts.ts'

/** The length of the longest e-mail address that the API takes. */
export const MAX_EMAIL_LENGTH = 254

/** Returns the words for refusals that a form about a user knows more about. */
export const explainUser = ({ code }: ApiError) =>
  code === 'email_taken' && faultAt('email', actTexts.form.emailTaken)
