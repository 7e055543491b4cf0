/** One calm sentence while the service does not respond. The pages ask it again automatically. */
import { useServiceAway } from '../api/availability.ts'
import './service-banner.css'

const TEXT = 'Wardkeep does not respond right now. This page tries again automatically.'

/** Shows the sentence, and reads it out once. */
export function ServiceBanner() {
  const isAway = useServiceAway()
  return (
    <div role="status" className="service-banner">
      {isAway && <p className="banner">{TEXT}</p>}
    </div>
  )
}
