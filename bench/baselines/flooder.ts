/** The stranger of the floods: one address, and on each connection the next request with the answer. */
import { Agent, type Dispatcher, request } from 'undici'
import { type Answers, count } from '../measure/answers.ts'
import { answer } from './answer.ts'

export interface Sent {
  method: Dispatcher.HttpMethod
  path: string
  headers: Record<string, string>
  body?: string
}

export interface Flood {
  url: string
  /** Where it comes from, an address of the loopback. */
  address: string
  connections: number
  seconds: number
  /** What is sent, by turns. */
  requests: Sent[]
}

/** Longer than any answer may take; what takes longer counts as none. */
const PATIENCE_MS = 60_000

answer(async ({ url, address, connections, seconds, requests }: Flood): Promise<Answers> => {
  const dispatcher = new Agent({
    connections,
    pipelining: 1,
    localAddress: address,
    headersTimeout: PATIENCE_MS,
    bodyTimeout: PATIENCE_MS,
  })
  const answers: Answers = {}
  const end = performance.now() + seconds * 1000
  let turn = 0
  const connection = async () => {
    while (performance.now() < end) {
      const { path, ...options } = requests[turn % requests.length] as Sent
      turn += 1
      try {
        const { statusCode, body } = await request(url + path, { ...options, dispatcher })
        await body.dump()
        count(answers, statusCode)
      } catch {
        count(answers, 'none')
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  await dispatcher.close()
  return answers
})
