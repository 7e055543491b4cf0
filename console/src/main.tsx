import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/problem.ts'
import { App } from './app.tsx'
import { watchLinkToken } from './pages/entry/link-token.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'

watchLinkToken()

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with the id root')
createRoot(root, {
  // The pages themselves show errors of the service. Any other error is a fault of the console.
  onCaughtError: (error) => {
    if (!(error instanceof ApiError)) reportError(error)
  },
}).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
