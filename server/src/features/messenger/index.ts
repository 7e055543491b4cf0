/** The exports of the messenger for the composition root. */
export { MESSENGER_LINKS } from './linking/chats.ts'
export { SEALED_CODES } from './linking/linking.service.ts'
export { SEALED_REPLIES } from './linking/replies.ts'
export { openMessenger } from './messenger.ts'
