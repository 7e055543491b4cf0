import { useEffect, useState } from 'react'

const PAUSE_MS = 200

/** Returns a value after it has not changed for 200 ms. */
export function usePaused<Value>(value: Value): Value {
  const [paused, setPaused] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return paused
}
