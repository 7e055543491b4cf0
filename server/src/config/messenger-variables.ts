import { parseUpstreamUrl } from '../platform/net/index.ts'
import { variable } from './variable.ts'

export const MESSENGER_VARIABLES = {
  MESSENGER_BOT_TOKEN: variable({
    meaning: 'Token of the bot that notifies users in their messenger',
    default: 'none; the bot is disabled',
    read: (text) => {
      if (text !== undefined && !/^(?!\.{1,2}$)[\w.~:-]{1,256}$/.test(text))
        throw new Error('must be the token only, which consists of letters, digits and `_ - : . ~`')
      return text
    },
  }),
  MESSENGER_API_URL: variable({
    meaning: "URL of the messenger's Bot API",
    default: 'https://api.telegram.org',
    read: (text = 'https://api.telegram.org') => parseUpstreamUrl(text),
  }),
  MESSENGER_MODE: variable({
    meaning:
      'How the bot receives messages. `polling` asks the Bot API for them. `webhook` receives them and requires an https PUBLIC_URL.',
    default: 'polling',
    read: (text = 'polling', env) => {
      if (text !== 'polling' && text !== 'webhook') throw new Error('must be polling or webhook')
      if (text === 'webhook' && env.MESSENGER_BOT_TOKEN && !isHttps(env.PUBLIC_URL))
        throw new Error('webhook requires an https PUBLIC_URL that the messenger can reach')
      return text
    },
  }),
}

const isHttps = (url: string | undefined) =>
  url !== undefined && URL.canParse(url) && new URL(url).protocol === 'https:'
