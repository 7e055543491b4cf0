/** The topics of notifications between processes about the messenger. */

/** Notifies the bot that a message is due for a chat. */
export const TOPIC_DUE = 'messenger-due'
/** Notifies processes that the bot or its state has changed. */
export const TOPIC_BOT = 'messenger-bot'
