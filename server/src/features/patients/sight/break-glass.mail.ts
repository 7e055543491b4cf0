/** The mail that informs a tenant's administrators about break-glass access. It identifies the patient only by id. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'

interface BreakGlassNotice {
  /** The e-mail address of the user who accessed the record. */
  by: string
  patientId: number
  purpose: string
  /** True if the user can see the patient even without break-glass. */
  seesAnyway: boolean
  /** When the user accessed the record, in milliseconds since the epoch. */
  at: number
}

export function breakGlassMail({
  by,
  patientId,
  purpose,
  seesAnyway,
  at,
}: BreakGlassNotice): MailContent {
  const when = new Date(at).toISOString().slice(0, 16).replace('T', ' at ')
  const otherwise = seesAnyway
    ? 'although the account has access to this patient anyway'
    : 'and otherwise has no access to this patient'
  return renderMail({
    subject: 'Break-glass access to a patient record',
    greeting: 'Hello,',
    lines: [
      `on ${when} UTC the account ${by} used break-glass (emergency access) to open the record of patient ${patientId}, ${otherwise}. Purpose: ${purpose}.`,
      'The account can read and change this record for four hours. The access list of the patient shows the reason that was given.',
    ],
    closing: 'You receive this e-mail because you are an administrator of this clinic.',
  })
}
