/** An HTTPS receiver in the test's process, which answers as the test says and keeps what it accepts. */
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { atTheEnd } from '../support/cleanup.ts'

export interface PostedBatch {
  headers: Record<string, string | string[] | undefined>
  lines: string[]
}

/** A status, and optionally the header Retry-After. */
export type Answering = (batch: PostedBatch) => number | { status: number; retryAfter: string }

export interface HttpsReceiver {
  url: URL
  /** Every request, in order of arrival. */
  requests: PostedBatch[]
  /** The lines of accepted requests. */
  accepted: string[]
  answerWith(answer: Answering): void
}

export async function openHttpsReceiver(tls: ServerOptions): Promise<HttpsReceiver> {
  const requests: PostedBatch[] = []
  const accepted: string[] = []
  let answer: Answering = () => 204
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => void chunks.push(chunk))
    request.on('end', () => {
      const lines = gunzipSync(Buffer.concat(chunks)).toString().trimEnd().split('\n')
      const batch = { headers: request.headers, lines }
      requests.push(batch)
      const given = answer(batch)
      const { status, retryAfter = undefined } =
        typeof given === 'number' ? { status: given } : given
      if (status < 300) accepted.push(...lines)
      response.writeHead(status, retryAfter ? { 'retry-after': retryAfter } : {}).end()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  atTheEnd(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`https://127.0.0.1:${port}/ingest?index=audit`),
    requests,
    accepted,
    answerWith(next) {
      answer = next
    },
  }
}
