/** Webhook receivers that respond 503 to every third message, each after a short delay. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answer } from './answer.ts'

/** The questions: to open a server, and how many messages a server has accepted. */
export type Question = { what: 'open'; answerMs: number } | { what: 'taken'; url: string }

const FAILS_EVERY = 3

const taken = new Map<string, number>()

async function open(answerMs: number): Promise<string> {
  let messages = 0
  let url = ''
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    messages += 1
    const status = messages % FAILS_EVERY === 0 ? 503 : 200
    request.resume().once('end', () => {
      setTimeout(() => {
        if (status === 200) taken.set(url, (taken.get(url) ?? 0) + 1)
        response.writeHead(status).end()
      }, answerMs)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  taken.set(url, 0)
  return url
}

answer(async (question: Question): Promise<string | number> => {
  switch (question.what) {
    case 'open':
      return open(question.answerMs)
    case 'taken':
      return taken.get(question.url) ?? 0
  }
})
