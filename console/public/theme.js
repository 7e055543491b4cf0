// A classic script: it runs before the first paint, so that no page shows in the wrong theme.
const theme = localStorage.getItem('theme')
if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
