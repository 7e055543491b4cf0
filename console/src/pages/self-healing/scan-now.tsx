/** The button that scans for faults, and the progress of the scan. The job of the scan is in the URL. */
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { failureSentence } from '../../parts/form-faults.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { useChangeSearch } from '../../parts/list/list-state.ts'
import { checkedParameter, readParameters } from '../../parts/list/parameters.ts'
import { showToast } from '../../parts/toasts.ts'
import { useHealingCommands } from './data.ts'
import { healingTexts } from './self-healing.texts.ts'

const texts = healingTexts.scan

const jobParameter = {
  scan: checkedParameter(36, (text) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text)),
}

/** The button that starts a scan. */
export function ScanNow() {
  const { scan } = useHealingCommands()
  const change = useChangeSearch()
  const [isBusy, setBusy] = useState(false)
  const start = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      const { job_id, started } = await scan()
      change({ scan: job_id })
      if (!started) showToast(texts.running)
    } catch (error) {
      showToast(failureSentence(error))
    }
    setBusy(false)
  }
  return (
    <button type="button" className="primary" aria-disabled={isBusy} onClick={() => void start()}>
      {texts.open}
    </button>
  )
}

/** The progress of the scan in the URL. */
export function ScanProgress() {
  const { scan: id } = readParameters(jobParameter, useSearch({ strict: false }))
  const change = useChangeSearch()
  const { reload } = useHealingCommands()
  if (id === undefined) return null
  return (
    <section className="card scan" aria-labelledby="scan">
      <header>
        <h2 id="scan">{texts.title}</h2>
        <button type="button" className="link" onClick={() => change({ scan: undefined })}>
          {texts.hide}
        </button>
      </header>
      <div className="card-body">
        <TrackedJob key={id} id={id} onOver={() => void reload()}>
          {() => <p>{texts.result}</p>}
        </TrackedJob>
      </div>
    </section>
  )
}
