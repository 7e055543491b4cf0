import { expect, test } from 'vitest'
import { ApiError } from '../api/problem.ts'
import { type Asked, performFinalAct } from './final-act.ts'

const refusal = (status: number, code: string) => new ApiError({ status, code, detail: code })

/** Makes an act and a confirmation that reject with these errors, and counts their calls. */
function makeAct({
  act,
  confirm,
  isConfirmed = true,
}: {
  act?: Error
  confirm?: Error
  isConfirmed?: boolean
} = {}) {
  const calls: string[] = []
  const call = async (name: string, error: Error | undefined) => {
    calls.push(name)
    if (error) throw error
    return name
  }
  return {
    calls,
    attempt: (asked: Asked, input = { password: 'a-Fine-Secret-3', code: '' }) =>
      performFinalAct(
        {
          act: () => call('act', act),
          isConfirmed: () => isConfirmed,
          confirm: (sent) => call(`confirm ${sent.password} ${sent.code}`.trim(), confirm),
        },
        asked,
        input,
      ),
  }
}

test('performs the act without a confirmation while the service asks for none', async () => {
  const { calls, attempt } = makeAct()
  expect(await attempt('nothing')).toEqual({ status: 'done', result: 'act' })
  expect(calls).toEqual(['act'])
})

test('asks for the password without sending the act if the session is not confirmed', async () => {
  const { calls, attempt } = makeAct({ isConfirmed: false })
  expect(await attempt('nothing')).toEqual({ status: 'asking', asked: 'password' })
  expect(calls).toEqual([])
})

test('asks for the password if the service refuses the act without a confirmation', async () => {
  const { attempt } = makeAct({ act: refusal(403, 'reauth_required') })
  expect(await attempt('nothing')).toEqual({ status: 'asking', asked: 'password' })
})

test('confirms the session, then performs the act', async () => {
  const { calls, attempt } = makeAct()
  const input = { password: 'a-Fine-Secret-3', code: '287082' }
  expect(await attempt('code', input)).toEqual({ status: 'done', result: 'act' })
  expect(calls).toEqual(['confirm a-Fine-Secret-3 287082', 'act'])
})

test('asks for the code of a second factor, and does not perform the act before', async () => {
  const { calls, attempt } = makeAct({ confirm: refusal(401, 'totp_required') })
  expect(await attempt('password')).toEqual({ status: 'asking', asked: 'code' })
  expect(calls).toEqual(['confirm a-Fine-Secret-3'])
})

test.each<Asked>(['password', 'code'])(
  'asks for the same again after a refused confirmation: %s',
  async (asked) => {
    const error = refusal(403, 'wrong_password')
    const { calls, attempt } = makeAct({ confirm: error })
    expect(await attempt(asked)).toEqual({ status: 'failed', asked, error })
    expect(calls).not.toContain('act')
  },
)

test('does not ask for the password again if the act fails after the confirmation', async () => {
  const error = refusal(404, 'not_found')
  expect(await makeAct({ act: error }).attempt('code')).toEqual({
    status: 'failed',
    asked: 'nothing',
    error,
  })
})

test('asks for the password again if the confirmation has expired in between', async () => {
  const { attempt } = makeAct({ act: refusal(403, 'reauth_required') })
  expect(await attempt('code')).toEqual({ status: 'asking', asked: 'password' })
})
