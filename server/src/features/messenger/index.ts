/** What the composition root uses of the messenger. */
export { MESSENGER_LINKS } from './linking/chats.ts'
export { SEALED_CODES } from './linking/linking.service.ts'
export { SEALED_REPLIES } from './linking/replies.ts'
export { openMessenger } from './messenger.ts'
