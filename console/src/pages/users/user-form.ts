/** Limits and error messages that the forms for new and existing users share. */
import type { ApiError } from '../../api/problem.ts'
import { faultAt } from '../../parts/form-faults.ts'
import { actTexts } from './acts.texts.ts'

/** The maximum length of an e-mail address in the API. */
export const MAX_EMAIL_LENGTH = 254

/** Returns the message for an error that the form can explain better than the service. */
export const explainUser = ({ code }: ApiError) =>
  code === 'email_taken' && faultAt('email', actTexts.form.emailTaken)
