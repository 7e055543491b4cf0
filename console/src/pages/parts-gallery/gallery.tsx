import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api, take } from '../../api/client.ts'
import { listenToKeys } from '../../parts/keys.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { ToastRegion } from '../../parts/toast.tsx'
import { NotFound } from '../../shell/page-frame.tsx'
import { ThemeMenu } from '../../shell/theme-menu.tsx'
import { ChartSection, DiffSection } from './charts.tsx'
import { DialogSection, SecretSection } from './dialogs.tsx'
import { JobSection, StatesSection, WordsSection } from './states.tsx'
import { TableSection, TableStatesSection } from './tables.tsx'
import './gallery.css'

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/

/** Shows every part in every state with made-up data. Only on this machine and in demo mode. */
export function Gallery() {
  const isLocal = LOOPBACK.test(location.hostname)
  const capabilities = useQuery({
    queryKey: ['capabilities'],
    queryFn: () => take(api.GET('/api/auth/capabilities')),
    enabled: !isLocal,
  })
  useEffect(listenToKeys, [])
  if (!isLocal && capabilities.isPending) return null
  return (
    <main className="gallery">
      {isLocal || capabilities.data?.demo_mode ? <Parts /> : <NotFound />}
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
      {/* After the other tables, so that the keys act on this one. */}
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
