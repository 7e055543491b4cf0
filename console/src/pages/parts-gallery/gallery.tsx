import { useEffect } from 'react'
import { listenToKeys } from '../../parts/keys.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { ToastRegion } from '../../parts/toast.tsx'
import { ThemeMenu } from '../../shell/theme-menu.tsx'
import { ChartSection, DiffSection } from './charts.tsx'
import { DialogSection, SecretSection } from './dialogs.tsx'
import { JobSection, StatesSection, WordsSection } from './states.tsx'
import { TableSection, TableStatesSection } from './tables.tsx'
import './gallery.css'

/** Shows every part in every state with made-up data. */
export function Gallery() {
  useEffect(listenToKeys, [])
  return (
    <main className="gallery">
      <Parts />
      <ToastRegion />
    </main>
  )
}

function Parts() {
  return (
    <>
      <PageHead title="Parts" actions={<ThemeMenu />} />
      <WordsSection />
      <TableStatesSection />
      {/* This section comes after the other tables, so that the keyboard shortcuts act on this table. */}
      <TableSection />
      <DialogSection />
      <SecretSection />
      <ChartSection />
      <DiffSection />
      <JobSection />
      <StatesSection />
    </>
  )
}
