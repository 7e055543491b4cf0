/** The attacker of the floods: one address, whose connections send the next request as soon as they get a response. */
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
  /** The source address on the loopback interface. */
  address: string
  connections: number
  seconds: number
  /** The requests, sent in turn. */
  requests: Sent[]
}

/** The time limit of a request, longer than any acceptable response time. Slower responses count as missing. */
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
