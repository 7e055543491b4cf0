import { useState } from 'react'
import { Sparkline } from '../../parts/chart/sparkline.tsx'
import { TimeChart } from '../../parts/chart/time-chart.tsx'
import { DiffView } from '../../parts/diff-view.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { parseTimeRange, type TimeRangeValue } from '../../parts/time-ranges.ts'
import { formatNumber } from '../../words/numbers.ts'
import { delivered, failed, hours, refused, signIns } from './made-up.ts'
import { Section } from './section.tsx'

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Time ranges, figures with their trend, and charts. */
export function ChartSection() {
  const [range, setRange] = useState<TimeRangeValue>(parseTimeRange({}, '24h'))
  return (
    <Section title="TimeRange, Sparkline, TimeChart">
      <TimeRange value={range} onChange={setRange} />
      <div className="gallery-figures">
        <div className="card gallery-padded">
          <h3>Sign-ins</h3>
          <div className="figure">{formatNumber(sum(signIns))}</div>
          <Sparkline values={signIns} />
        </div>
        <div className="card gallery-padded">
          <h3>Refused</h3>
          <div className="figure">{formatNumber(sum(refused))}</div>
          <Sparkline values={refused} tone={4} />
        </div>
      </div>
      <div className="gallery-grid wide-cells">
        <TimeChart
          title="Sign-ins"
          kind="lines"
          times={hours}
          note="Last 24 hours"
          series={[
            { name: 'Signed in', values: signIns, tone: 1 },
            { name: 'Refused', values: refused, tone: 4, isDashed: true },
          ]}
        />
        <TimeChart
          title="Webhook deliveries"
          kind="bars"
          times={hours}
          note="Last 24 hours"
          series={[
            { name: 'Delivered', values: delivered, tone: 1 },
            { name: 'Failed', values: failed, tone: 2 },
          ]}
        />
      </div>
    </Section>
  )
}

const before = {
  full_name: 'Keiko Álvarez',
  role: 'nurse',
  department: 'Cardiology',
  phone: null,
  password: 'hidden',
  events: ['user.created', 'user.blocked'],
}

const after = {
  ...before,
  role: 'doctor',
  phone: '+41 44 000 00 00',
  events: ['user.created', 'user.updated'],
}

/** Shows the fields that a change affected. */
export function DiffSection() {
  return (
    <Section title="DiffView">
      <div className="card">
        <DiffView
          before={before}
          after={after}
          hidden={new Set(['password'])}
          labels={{ role: 'Role', full_name: 'Name', department: 'Department', phone: 'Phone' }}
        />
      </div>
    </Section>
  )
}
