/** A message that is shown while the service does not respond. The pages retry automatically. */
import { useServiceAway } from '../api/availability.ts'
import './service-banner.css'

const TEXT = 'Wardkeep does not respond right now. This page tries again automatically.'

/** Shows the message, and announces it once to screen readers. */
export function ServiceBanner() {
  const isAway = useServiceAway()
  return (
    <div role="status" className="service-banner">
      {isAway && <p className="banner">{TEXT}</p>}
    </div>
  )
}
