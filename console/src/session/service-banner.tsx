/** A message that is shown while the service does not answer. The pages retry automatically. */
import { useAway } from '../api/availability.ts'
import './service-banner.css'

const TEXTS = {
  silent: 'Wardkeep does not respond right now. This page tries again automatically.',
  restoring: 'A backup is being restored. This page tries again automatically.',
}

/** Shows the message, and announces it once to screen readers. */
export function ServiceBanner() {
  const away = useAway()
  return (
    <div role="status" className="service-banner">
      {away && <p className="banner">{TEXTS[away]}</p>}
    </div>
  )
}
