/** The encrypted columns of the patients tables, which a rotation of data keys must re-encrypt. */
import type { SealedTable } from '../../platform/crypto/index.ts'
import { SEALED_COLUMNS } from './records/fields.ts'
import { fieldsOf } from './records/record.ts'
import { insertTokens } from './records/records.store.ts'
import { type PatientToken, tokensOf } from './search/tokens.ts'

export const PATIENTS: SealedTable = {
  table: 'patients',
  id: { column: 'id', type: 'bigint' },
  columns: SEALED_COLUMNS,
  tokens: {
    table: 'patient_tokens',
    of: 'patient_id',
    async add(tx, keys, rows, breathe) {
      const tokens: PatientToken[] = []
      for (const row of rows) {
        tokens.push(...tokensOf(keys, Number(row.id), fieldsOf(row), 'current'))
        await breathe()
      }
      insertTokens(tx, keys.tenantId, tokens)
    },
  },
}

export const GRANTS: SealedTable = {
  table: 'patient_grants',
  id: { column: 'id', type: 'bigint' },
  columns: ['sealed_reason'],
}
