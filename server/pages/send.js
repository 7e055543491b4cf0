/** Sends the token of the page's link when its form is submitted, and says what came of it. */
export function sendToken(call) {
  const form = document.querySelector('form')
  const button = form.querySelector('button')
  const status = document.querySelector('[role="status"]')
  const token = new URLSearchParams(location.search).get('token') ?? ''
  // The token is read: from here on it stands neither in the address bar nor in the history.
  history.replaceState(null, '', location.pathname)

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    status.textContent = 'One moment…'
    try {
      const response = await call(token, form)
      const { detail } = await response.json()
      status.textContent =
        typeof detail === 'string'
          ? detail
          : detail.map(({ msg }) => msg.replace(/^Value error, /, '')).join('\n')
      if (response.ok) form.hidden = true
    } catch {
      status.textContent = 'The service cannot be reached; try again.'
    }
    button.disabled = false
  })
}
