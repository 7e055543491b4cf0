/** The metrics of the messenger's messages. */
import { Counter, type Registry } from 'prom-client'
import type { SendOutcome } from './sending/outcome.ts'

/** Registers the metrics. Returns a function that counts a message by its outcome. */
export function messageMetrics(registry: Registry): (outcome: SendOutcome['kind']) => void {
  const messages = new Counter({
    name: 'wardkeep_messenger_messages_total',
    help: 'Messages to chats, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  return (outcome) => messages.inc({ outcome })
}
