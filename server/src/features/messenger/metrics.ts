/** What becomes of the messenger's messages, as Prometheus counts it. */
import { Counter, type Registry } from 'prom-client'
import type { Outcome } from './sending/outcome.ts'

/** Registers the series. Returns what notes a message and what became of it. */
export function messageMetrics(registry: Registry): (outcome: Outcome['kind']) => void {
  const messages = new Counter({
    name: 'wardkeep_messenger_messages_total',
    help: 'Messages to chats, by what became of them',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  return (outcome) => messages.inc({ outcome })
}
