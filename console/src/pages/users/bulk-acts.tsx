import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { AskedBulk } from './asked-bulk.ts'
import { type BulkAct, bulkLabels } from './bulk-labels.texts.ts'
import type { ChosenUsers } from './chosen-users.ts'

const BulkDialog = lazy(() => import('./bulk-dialog.tsx'))

/**
 * Returns the confirmation dialog for a change of the selected users, and a function that opens it. The page renders
 * the dialog, so the dialog stays open when the selection becomes empty.
 */
export function useBulkDialog(chosen: ChosenUsers): {
  ask: (act: BulkAct) => void
  dialog: ReactNode
} {
  const [asked, setAsked] = useState<AskedBulk>()
  return {
    ask: (act) => setAsked({ number: (asked?.number ?? 0) + 1, act, users: chosen.users }),
    dialog: (
      <Suspense>
        {asked && <BulkDialog key={asked.number} asked={asked} onDone={chosen.clear} />}
      </Suspense>
    ),
  }
}

interface BulkActsProps {
  readonly acts: readonly BulkAct[]
  readonly onAsk: (act: BulkAct) => void
}

/** The buttons for the selected users. */
export function BulkActs({ acts, onAsk }: BulkActsProps) {
  return acts.map((act) => (
    <button
      key={act}
      type="button"
      onClick={() => onAsk(act)}
      className={act === 'block' || act === 'refuse' ? 'danger' : undefined}
    >
      {bulkLabels[act]}
    </button>
  ))
}
