/** Chats: numbers and names that are kept sealed, and known by keyed hashes. */
import type { DeriveKey, KeyRing, Sealer } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Digest, digestWith } from './codes.ts'

/** A private chat, as its owner has named it: names can be anything. */
export interface Chat {
  id: number
  username: string | null
  name: string
}

export interface Chats {
  /** The hash that a chat is known by, in all tenants. */
  hashOf(chatId: number): Buffer
  hashOfCode: Digest
  /** Seals what is of no tenant. @param place table and column */
  seal(place: string, hash: Buffer, content: object): Buffer
  /** @throws Error when the place or the hash differs, or a byte was changed */
  open<T>(place: string, hash: Buffer, sealed: Buffer): T
  /** Seals the chat of a user with the key of their tenant. */
  sealFor(tx: TenantTx, user: { tenant_id: number; user_id: number }, chat: Chat): Promise<Buffer>
  openOf(
    tx: TenantTx,
    link: { tenant_id: number; user_id: number; sealed_chat: Buffer },
  ): Promise<Chat>
}

export function openChats(deps: { deriveKey: DeriveKey; sealer: Sealer; keyRing: KeyRing }): Chats {
  const { sealer, keyRing, deriveKey } = deps
  const hashOf = digestWith(deriveKey('messenger chat'))
  const placeOf = (place: string, hash: Buffer) => `${place}:${hash.toString('hex')}`
  const ofUser = (userId: number) => `messenger_links.sealed_chat:${userId}`
  return {
    hashOf: (chatId) => hashOf(String(chatId)),
    hashOfCode: digestWith(deriveKey('messenger code')),
    seal: (place, hash, content) =>
      sealer.seal(Buffer.from(JSON.stringify(content)), placeOf(place, hash)),
    open: (place, hash, sealed) =>
      JSON.parse(sealer.open(sealed, placeOf(place, hash)).toString('utf8')),
    sealFor: (tx, { tenant_id, user_id }, chat) =>
      keyRing.seal(tx, tenant_id, Buffer.from(JSON.stringify(chat)), ofUser(user_id)),
    async openOf(tx, { tenant_id, user_id, sealed_chat }) {
      const opened = await keyRing.open(tx, tenant_id, sealed_chat, ofUser(user_id))
      return JSON.parse(opened.toString('utf8'))
    },
  }
}
