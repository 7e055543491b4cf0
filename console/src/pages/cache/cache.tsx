import type { ReactNode } from 'react'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { usePersonHere } from '../../shell/person.ts'
import { formatDuration } from '../../words/dates.ts'
import { formatBytes, formatNumber } from '../../words/numbers.ts'
import { cacheTexts as texts } from './cache.texts.ts'
import { CacheActs } from './cache-acts.tsx'
import { type CacheStats, useCacheStats } from './data.ts'
import './cache.css'

/** The figures of the patient cache of one node, and its maintenance. */
export function Page() {
  const query = useCacheStats()
  return (
    <>
      <PageHead title={texts.title} />
      <p className="muted cache-lead">{texts.lead}</p>
      <QueryState query={query}>
        {(stats) => (
          <div className="stack">
            <Figures stats={stats} />
            <CacheActs node={stats.node} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function Figures({ stats }: { stats: CacheStats }) {
  const isWide = usePersonHere().role === 'superadmin'
  const { hits, misses } = stats
  return (
    <section className="stack tight" aria-labelledby="figures">
      <h2 id="figures">{texts.figures}</h2>
      <p>
        {texts.node} <code className="cache-node">{stats.node}</code>.{' '}
        <span className="muted">{isWide ? texts.ofAll : texts.ofClinic}</span>
      </p>
      <div className="cache-figures">
        <Figure
          title={texts.hitRatio}
          value={hits + misses === 0 ? '–' : texts.percent(stats.hit_ratio)}
        >
          {hits + misses === 0 ? texts.noReads : texts.reads(hits, misses)}
        </Figure>
        <Figure title={texts.entries} value={formatNumber(stats.entries)}>
          {texts.limit(stats.max_entries)}
        </Figure>
        <Figure title={texts.memory} value={formatBytes(stats.bytes)}>
          {texts.memoryLimit(stats.max_bytes)}
        </Figure>
        <Figure title={texts.evictions} value={formatNumber(stats.evictions)} />
        <Figure title={texts.expirations} value={formatNumber(stats.expirations)} />
        <Figure title={texts.maxAge} value={formatDuration(stats.ttl_seconds)} />
      </div>
    </section>
  )
}

interface FigureProps {
  readonly title: string
  readonly value: string
  readonly children?: ReactNode
}

function Figure({ title, value, children }: FigureProps) {
  return (
    <div className="card card-body">
      <h3>{title}</h3>
      <div className="figure">{value}</div>
      <p className="small muted">{children}</p>
    </div>
  )
}
