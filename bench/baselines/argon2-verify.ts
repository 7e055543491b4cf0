/** The baseline of sign-ins: the password check alone, with the service's concurrency. */
import { verify } from '@node-rs/argon2'
import { answer, keepBusy } from './answer.ts'

interface Question {
  hash: string
  password: string
  atOnce: number
  seconds: number
}

answer(({ hash, password, atOnce, seconds }: Question) =>
  keepBusy(atOnce, seconds, async () => {
    if (!(await verify(hash, password))) throw new Error('the password does not match')
  }),
)
