/** What a tenant's admins are told when the glass was broken: by whom and when, and of the patient a number. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'

interface Told {
  /** The address of the account. */
  by: string
  patientId: number
  purpose: string
  /** Whether the account sees the patient without breaking the glass as well. */
  seesAnyway: boolean
  /** Milliseconds since the epoch. */
  at: number
}

export function breakGlassMail({ by, patientId, purpose, seesAnyway, at }: Told): MailContent {
  const when = new Date(at).toISOString().slice(0, 16).replace('T', ' at ')
  const otherwise = seesAnyway
    ? 'whom it sees without that as well'
    : 'whom it does not see otherwise'
  return renderMail({
    subject: 'A record was opened by break-glass',
    greeting: 'Hello,',
    lines: [
      `on ${when} UTC the account ${by} opened the record of patient ${patientId} by break-glass, ${otherwise}. Purpose: ${purpose}.`,
      'It may read and change this record for four hours. The accesses of the patient show the reason that was given.',
    ],
    closing: 'You are told because you administer this clinic.',
  })
}
