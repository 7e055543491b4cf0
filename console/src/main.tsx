import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with the id root')
createRoot(root).render(
  <StrictMode>
    <h1>Wardkeep</h1>
  </StrictMode>,
)
