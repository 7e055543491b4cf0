/** The baseline of webhooks to a failing receiver: POSTs without pauses, regardless of the responses. */
import { Agent, request } from 'undici'
import { answer, keepBusy } from './answer.ts'

interface Question {
  url: string
  atOnce: number
  seconds: number
}

const HEADERS = { 'content-type': 'application/json' }
const BODY = JSON.stringify({ type: 'department.updated', data: { id: 12 } })

/** Returns the POSTs per second that got a response in time. */
answer(async ({ url, atOnce, seconds }: Question) => {
  const dispatcher = new Agent({ connections: atOnce, pipelining: 1 })
  const rate = await keepBusy(atOnce, seconds, async () => {
    const { body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: HEADERS,
      body: BODY,
    })
    await body.dump()
  })
  await dispatcher.close()
  return rate
})
