/** Performs a final act, which needs the password and the code of the second factor first. */
import { ApiError } from '../api/problem.ts'

/** The values that the reader enters to confirm the session. */
export interface ConfirmationInput {
  readonly password: string
  readonly code: string
}

/** The input that the next attempt needs. A code is asked for together with the password. */
export type Asked = 'nothing' | 'password' | 'code'

interface FinalAct<Result> {
  readonly act: () => Promise<Result>
  /** Returns false if the service would refuse the act. The audit log would contain the refusal. */
  readonly isConfirmed: () => boolean
  /** Confirms the session. Rejects with an `ApiError`. */
  readonly confirm: (input: ConfirmationInput) => Promise<unknown>
}

/** The result of an attempt, with the input that the next attempt needs. */
export type Outcome<Result> =
  | { readonly status: 'done'; readonly result: Result }
  | { readonly status: 'asking'; readonly asked: Asked }
  | { readonly status: 'failed'; readonly asked: Asked; readonly error: unknown }

/**
 * Confirms the session if the person was asked for it, then performs the act.
 * @param asked the input that the person was asked for at the previous attempt
 */
export async function performFinalAct<Result>(
  { act, isConfirmed, confirm }: FinalAct<Result>,
  asked: Asked,
  input: ConfirmationInput,
): Promise<Outcome<Result>> {
  if (asked === 'nothing') {
    if (!isConfirmed()) return { status: 'asking', asked: 'password' }
  } else {
    try {
      await confirm(input)
    } catch (error) {
      if (codeOf(error) === 'totp_required') return { status: 'asking', asked: 'code' }
      return { status: 'failed', asked, error }
    }
  }
  try {
    return { status: 'done', result: await act() }
  } catch (error) {
    if (codeOf(error) === 'reauth_required') return { status: 'asking', asked: 'password' }
    // The session is confirmed now, so the next attempt needs no password.
    return { status: 'failed', asked: 'nothing', error }
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof ApiError ? error.code : undefined
