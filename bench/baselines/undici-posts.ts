/** The baseline of webhooks: the same POSTs to the same receivers, with undici alone, each sent once. */
import { Agent, request } from 'undici'
import { answer } from './answer.ts'

interface Question {
  urls: string[]
  headers: Record<string, string>
  body: string
  /** The number of concurrent messages to each receiver. */
  atOnce: number
  /** The total number of messages, the same for each receiver. */
  messages: number
}

let agent: Agent | undefined
let sent = 0

answer(async ({ urls, headers, body, atOnce, messages }: Question) => {
  agent ??= new Agent({ connections: atOnce, pipelining: 1 })
  const dispatcher = agent
  const start = performance.now()
  const lane = async (url: string, left: { count: number }) => {
    while (left.count > 0) {
      left.count -= 1
      sent += 1
      const answered = await request(url, {
        dispatcher,
        method: 'POST',
        headers: { ...headers, 'webhook-id': `msg_base_${sent}` },
        body,
      })
      if (answered.statusCode !== 200) throw new Error(`${url} answered ${answered.statusCode}`)
      await answered.body.dump()
    }
  }
  await Promise.all(
    urls.flatMap((url) => {
      const left = { count: messages / urls.length }
      return Array.from({ length: atOnce }, () => lane(url, left))
    }),
  )
  return messages / ((performance.now() - start) / 1000)
})
