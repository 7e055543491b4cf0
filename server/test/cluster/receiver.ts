/** The receiver of the webhooks: records every ID with its bodies. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A receiver that accepts every message. */
export interface MessageReceiver {
  /** Returns the address for the webhook of a clinic. */
  urlOf(subdomain: string): string
  /** Returns the bodies that arrived for a clinic, by message ID. */
  receivedBy(subdomain: string): ReadonlyMap<string, ReadonlySet<string>>
  close(): void
}

/** Starts the receiver on a free port. */
export async function openMessageReceiver(): Promise<MessageReceiver> {
  const received = new Map<string, Map<string, Set<string>>>()
  const of = (subdomain: string) => {
    const known = received.get(subdomain) ?? new Map<string, Set<string>>()
    received.set(subdomain, known)
    return known
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const messages = of((request.url ?? '').slice(1))
      const id = String(request.headers['webhook-id'])
      const bodies = messages.get(id) ?? new Set()
      messages.set(id, bodies.add(Buffer.concat(chunks).toString()))
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    urlOf: (subdomain) => `http://127.0.0.1:${port}/${subdomain}`,
    receivedBy: of,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
