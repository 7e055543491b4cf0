/** The variables of self-healing. */
import { parseCron } from '../lib/cron.ts'
import { variable } from './variable.ts'

const EVERY_FIVE_MINUTES = parseCron('*/5 * * * *')

const MODES = ['auto', 'propose', 'off'] as const

export const SELF_HEALING_VARIABLES = {
  SELF_HEALING: variable({
    meaning:
      '`auto` repairs by itself what is harmless, `propose` leaves all to people, `off` looks only when told to',
    default: 'auto',
    read: (text = 'auto') => {
      const mode = MODES.find((one) => one === text)
      if (!mode) throw new Error('must be auto, propose or off')
      return mode
    },
  }),
  SELF_HEALING_SCAN: variable({
    meaning: 'when it is looked for faults: a cron expression in UTC',
    default: '`*/5 * * * *`, every five minutes',
    read: (text) => (text === undefined ? EVERY_FIVE_MINUTES : parseCron(text)),
  }),
}
