/** The encrypted column of the second factor, which contains the TOTP secret. */
import { placeIn, type SealedPlace, type SealedTable } from '../../../platform/crypto/index.ts'

export const SECOND_FACTORS: SealedTable = {
  table: 'second_factors',
  id: { column: 'user_id', type: 'bigint' },
  columns: ['sealed_secret'],
}

export const totpSecretPlace = (userId: number): SealedPlace =>
  placeIn(SECOND_FACTORS, 'sealed_secret', userId)
