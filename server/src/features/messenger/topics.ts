/** What processes notify each other of about the messenger. */

/** Something waits for a chat. */
export const TOPIC_DUE = 'messenger-due'
/** The bot is another one, or does otherwise than before. */
export const TOPIC_BOT = 'messenger-bot'
