import { formatCount, formatNumber } from '../../words/numbers.ts'

/** Texts of the page "Self-healing". */
export const healingTexts = {
  title: 'Self-healing',
  filters: 'Filters of checks',
  show: 'Checks',
  showOpen: 'With findings',
  showAll: 'All checks',
  severity: 'Severity',
  anySeverity: 'Any severity',
  check: 'Check',
  state: 'State',
  found: 'Found',
  last: 'Last found',
  mends: 'Repair',
  mending: {
    automatic: 'Automatic',
    confirmed: 'After your confirmation',
    manual: 'By hand',
  },
  nothingTitle: 'No faults found',
  nothing: 'The last scan found nothing that needs a repair.',
  nothingFound: 'No check matches these filters.',
  history: 'Repairs in this clinic',
  lastScan: 'Last scan:',
  noScan: 'No scan yet.',
  checks: (count: number) => formatCount(count, 'check', 'checks'),
  failedChecks: (count: number) =>
    formatCount(count, 'check could not be made', 'checks could not be made'),
  success: (share: string) => `${share} of all repairs succeeded.`,
  scan: {
    open: 'Scan now',
    title: 'Scan',
    running: 'Another scan was already running. This is its progress.',
    result: 'The scan is over. The list shows what it found.',
    hide: 'Hide',
  },
  seed: {
    open: 'Restore checks',
    title: 'Restore checks',
    body: 'Brings back the checks that were taken out. Other checks stay as they are.',
    done: (count: number) => `Restored ${formatCount(count, 'check', 'checks')}.`,
  },
  panel: {
    notFoundTitle: 'Check not found',
    notFound: 'This check was taken out, or it does not exist.',
    plan: 'What the repair does',
    manualPlan: 'What to do',
    runbook: (page: string) => `Runbook: docs/runbooks/${page}`,
    reason: 'Why it waits',
    failure: 'Why the repair failed',
    next: 'What to do next',
    retry: 'Scan again. The repair can be confirmed again once a scan has proposed it.',
    unknown: 'The last scan could not check this:',
    evidence: 'Evidence',
    shown: (shown: number, all: number) =>
      `The first ${formatNumber(shown)} of ${formatCount(all, 'finding', 'findings')}.`,
    none: 'There are no findings.',
    since: 'first found',
    field: 'Field',
    measured: 'Found',
    expected: 'Should be',
    ofClinic: (name: string) => `Clinic: ${name}`,
    repaired: 'Last repair',
    result: (repaired: number, gone: number, failed: number, remaining: number) =>
      [
        `${formatNumber(repaired)} repaired`,
        ...(gone > 0 ? [`${formatNumber(gone)} gone before the repair`] : []),
        ...(failed > 0 ? [`${formatNumber(failed)} failed`] : []),
        ...(remaining > 0 ? [`${formatNumber(remaining)} left`] : []),
      ].join(', '),
    byUser: 'Confirmed by a person',
    bySelf: 'Applied automatically',
    severity: 'Severity',
  },
  confirm: {
    open: 'Confirm repair',
    title: 'Confirm repair',
    body: (count: number) =>
      `The service checks again, and then repairs what it finds. Now there ${
        count === 1 ? 'is 1 finding' : `are ${formatNumber(count)} findings`
      }. The audit log records each repair.`,
    applied: 'Repaired. The check found nothing afterwards.',
    failed: 'The repair did not succeed. The panel shows why.',
  },
  takeOut: {
    open: 'Take out',
    title: 'Take out check',
    body: 'The service no longer looks for this fault. “Restore checks” brings the check back.',
    done: 'Taken out.',
  },
  values: { yes: 'yes', no: 'no', none: 'none' },
}
