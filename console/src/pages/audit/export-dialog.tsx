import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import type { PageInfo } from '../../parts/data-table/index.ts'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { RequestId } from '../../parts/states.tsx'
import { commonTexts } from '../../words/common.texts.ts'
import { auditTexts } from './audit.texts.ts'
import { useAuditQuery } from './data.ts'
import { type ExportFormat, type ReceivedFile, receiveExport } from './export-file.ts'
import type { AuditFilters, AuditSpan } from './filters.ts'

const texts = auditTexts.export

interface ExportDialogProps {
  readonly filters: AuditFilters
  readonly span: AuditSpan
  /** The page info of the list. It contains the number of matching entries. */
  readonly matching: PageInfo | undefined
  readonly onClose: () => void
}

/** Exports the entries that match the filters to a file. */
export default function ExportDialog({ filters, span, matching, onClose }: ExportDialogProps) {
  const run = useExport(filters, span)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const format = new FormData(event.currentTarget).get('format')
    run.start(format === 'ndjson' ? 'ndjson' : 'csv')
  }
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {matching && <p>{texts.matching(matching.total, matching.total_estimated === true)}</p>}
        <p className="muted">{texts.journaled}</p>
        <Formats />
        {run.isRunning && (
          <div className="stack tight">
            <progress aria-label={texts.progress} />
            <span className="muted number">{texts.received(run.bytes)}</span>
          </div>
        )}
        {run.error && <ExportError error={run.error} bytes={run.bytes} />}
        <p role="status">{run.saved && texts.saved(run.saved.name, run.saved.content.size)}</p>
        <DialogActions>
          <button type="button" onClick={run.isRunning ? run.cancel : onClose}>
            {run.isRunning ? texts.cancel : run.saved ? commonTexts.close : commonTexts.cancel}
          </button>
          {!run.isRunning && (
            <button type="submit" className="primary">
              {texts.submit}
            </button>
          )}
        </DialogActions>
      </form>
    </Dialog>
  )
}

function Formats() {
  return (
    <fieldset className="stack tight">
      <legend className="hidden">{texts.format}</legend>
      <label className="check">
        <input type="radio" name="format" value="csv" defaultChecked />
        {texts.csv}
      </label>
      <label className="check">
        <input type="radio" name="format" value="ndjson" />
        {texts.ndjson}
      </label>
    </fieldset>
  )
}

function ExportError({ error, bytes }: { error: Error; bytes: number }) {
  return (
    <div role="alert" className="banner fault">
      <span>{error instanceof ApiError ? error.detail : texts.brokenOff(bytes)}</span>
      {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
    </div>
  )
}

/** The running export, and functions to start and cancel it. Closing the dialog cancels it. */
interface ExportRun {
  readonly bytes: number
  readonly isRunning: boolean
  readonly error: Error | null
  readonly saved: ReceivedFile | undefined
  readonly start: (format: ExportFormat) => void
  readonly cancel: () => void
}

function useExport(filters: AuditFilters, span: AuditSpan): ExportRun {
  const queryOf = useAuditQuery(filters, span)
  const [bytes, setBytes] = useState(0)
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const receive = useMutation({
    mutationFn: async (format: ExportFormat) => {
      abort.current = new AbortController()
      const { signal } = abort.current
      setBytes(0)
      const file = await receiveExport(await queryOf(), format, { signal, onProgress: setBytes })
      saveFile(file.content, file.name)
      return file
    },
  })
  const cancel = () => {
    abort.current?.abort()
    receive.reset()
  }
  return {
    bytes,
    isRunning: receive.isPending,
    error: receive.error,
    saved: receive.data,
    start: receive.mutate,
    cancel,
  }
}
