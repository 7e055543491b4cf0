import { parseCron } from '../lib/cron.ts'
import { oneOf, variable } from './variable.ts'

const EVERY_FIVE_MINUTES = parseCron('*/5 * * * *')

export const SELF_HEALING_VARIABLES = {
  SELF_HEALING: variable({
    meaning:
      '`auto` repairs harmless faults automatically. `propose` leaves all repairs to people. `off` disables scheduled scans.',
    default: 'auto',
    read: oneOf('auto', ['auto', 'propose', 'off']),
  }),
  SELF_HEALING_SCAN: variable({
    meaning: 'When to scan for faults, as a cron expression in UTC',
    default: '`*/5 * * * *`',
    read: (text) => (text === undefined ? EVERY_FIVE_MINUTES : parseCron(text)),
  }),
}
