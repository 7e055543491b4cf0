/** Encrypts the ids and names of chats, and identifies chats by keyed hashes. */
import {
  type DeriveKey,
  type KeyRing,
  placeIn,
  type RootSealed,
  rootPlace,
  type SealedTable,
  type Sealer,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Digest, digestWith } from './codes.ts'

export const MESSENGER_LINKS: SealedTable = {
  table: 'messenger_links',
  id: { column: 'id', type: 'bigint' },
  row: 'user_id',
  columns: ['sealed_chat'],
}

/** A private chat. Its owner has chosen the names, so they can be any text. */
export interface Chat {
  id: number
  username: string | null
  name: string
}

export interface Chats {
  /** Returns the hash that identifies a chat across tenants. */
  hashOf(chatId: number): Buffer
  hashOfCode: Digest
  /** Encrypts content with the root key, because it belongs to no tenant. */
  seal(column: RootSealed, hash: Buffer, content: object): Buffer
  /** Decrypts content of `seal`. @throws UnreadableError if the column or hash differs, or any byte was changed */
  open<T>(column: RootSealed, hash: Buffer, sealed: Buffer): T
  /** Encrypts the chat of a user with the key of the user's tenant. */
  sealFor(tx: TenantTx, user: { tenant_id: number; user_id: number }, chat: Chat): Promise<Buffer>
  /** Decrypts a user's chat. @throws UnreadableError if the chat or a key of the tenant cannot be decrypted */
  openOf(tx: TenantTx, link: SealedChat): Promise<Chat>
  /** Decrypts a user's chat. Returns null on failure, so that users can still see and remove their link. */
  openOrNull(tx: TenantTx, link: SealedChat): Promise<Chat | null>
}

interface SealedChat {
  tenant_id: number
  user_id: number
  sealed_chat: Buffer
}

export function openChats(deps: { deriveKey: DeriveKey; sealer: Sealer; keyRing: KeyRing }): Chats {
  const { sealer, keyRing, deriveKey } = deps
  const hashOf = digestWith(deriveKey('messenger chat'))
  const ofUser = (userId: number) => placeIn(MESSENGER_LINKS, 'sealed_chat', userId)

  async function openOf(tx: TenantTx, { tenant_id, user_id, sealed_chat }: SealedChat) {
    const keys = await keyRing.ofTenant(tx, tenant_id)
    return JSON.parse(keys.open(sealed_chat, ofUser(user_id)).toString('utf8')) as Chat
  }

  return {
    hashOf: (chatId) => hashOf(String(chatId)),
    hashOfCode: digestWith(deriveKey('messenger code')),
    seal: (column, hash, content) => sealer.seal(JSON.stringify(content), rootPlace(column, hash)),
    open: (column, hash, sealed) =>
      JSON.parse(sealer.open(sealed, rootPlace(column, hash)).toString('utf8')),
    async sealFor(tx, { tenant_id, user_id }, chat) {
      const keys = await keyRing.forWriting(tx, tenant_id)
      return keys.seal(JSON.stringify(chat), ofUser(user_id))
    },
    openOf,
    async openOrNull(tx, link) {
      try {
        return await openOf(tx, link)
      } catch (error) {
        if (error instanceof UnreadableError) return null
        throw error
      }
    },
  }
}
