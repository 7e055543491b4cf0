import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { commonTexts } from '../../words/common.texts.ts'
import type { AskedBulk } from './asked-bulk.ts'
import { bulkTexts as texts } from './bulk.texts.ts'
import { bulkLabels } from './bulk-labels.texts.ts'
import { reasonOf } from './failure.ts'
import type { BulkProgress, RefusedUser } from './one-by-one.ts'
import { type Bulk, useBulk } from './use-bulk.ts'

interface BulkDialogProps {
  readonly asked: AskedBulk
  /** Called when the work is done and the report has been closed. */
  readonly onDone: () => void
}

/** Asks before a change of several users, shows its progress, and lists the refused users. */
export default function BulkDialog({ asked, onDone }: BulkDialogProps) {
  const bulk = useBulk(asked, onDone)
  if (!bulk.run) return null
  const { act, users, skipped, progress, isOver } = bulk.run
  const words = texts.acts[act]
  const title = words.title(users.length)
  if (users.length === 0)
    return <NothingToDo title={bulkLabels[act]} skipped={skipped} onClose={bulk.cancel} />
  if (progress && isOver)
    return <Report title={title} progress={progress} total={users.length} bulk={bulk} />
  if (progress)
    return <Progress title={title} progress={progress} total={users.length} onStop={bulk.stop} />
  return (
    <ConfirmDanger title={title} onConfirm={bulk.confirm} onCancel={bulk.cancel}>
      <p>{words.body(users.length)}</p>
      {skipped > 0 && <p className="muted">{texts.skipped(skipped)}</p>}
    </ConfirmDanger>
  )
}

interface ProgressProps {
  readonly title: string
  readonly progress: BulkProgress
  readonly total: number
  readonly onStop: () => void
}

function Progress({ title, progress, total, onStop }: ProgressProps) {
  const { done, refused, waitSeconds } = progress
  const count = done.length + refused.length
  return (
    <Dialog title={title} onClose={onStop}>
      <div className="stack">
        <progress className="bulk-progress" value={count} max={total} aria-label={title} />
        <p role="status">{texts.progress(count, total)}</p>
        {waitSeconds !== undefined && (
          <p role="timer" className="muted">
            {texts.waiting(waitSeconds)}
          </p>
        )}
      </div>
      <DialogActions>
        <button type="button" onClick={onStop}>
          {texts.stop}
        </button>
      </DialogActions>
    </Dialog>
  )
}

interface ReportProps {
  readonly title: string
  readonly progress: BulkProgress
  readonly total: number
  readonly bulk: Bulk
}

function Report({ title, progress, total, bulk }: ReportProps) {
  const { done, refused } = progress
  return (
    <Dialog title={title} onClose={bulk.finish}>
      <div className="stack" role="status">
        <p>{texts.partly(done.length, total, refused.length)}</p>
        {refused.length > 0 && <Refusals refused={refused} />}
      </div>
      <DialogActions>
        {bulk.undo && (
          <button type="button" onClick={bulk.undo}>
            {commonTexts.undo}
          </button>
        )}
        <button type="button" onClick={bulk.finish}>
          {commonTexts.close}
        </button>
      </DialogActions>
    </Dialog>
  )
}

/** Lists the users whom the service refused, each with the reason. */
function Refusals({ refused }: { refused: readonly RefusedUser[] }) {
  return (
    <ul className="panel-list">
      {refused.map(({ user, error }) => (
        <li key={user.id}>
          <b>
            <bdi>{user.full_name}</bdi>
          </b>
          <div className="muted">{reasonOf(error)}</div>
        </li>
      ))}
    </ul>
  )
}

interface NothingToDoProps {
  readonly title: string
  readonly skipped: number
  readonly onClose: () => void
}

function NothingToDo({ title, skipped, onClose }: NothingToDoProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{texts.skipped(skipped)}</p>
      <DialogActions>
        <button type="button" onClick={onClose}>
          {commonTexts.close}
        </button>
      </DialogActions>
    </Dialog>
  )
}
