/** Light, dark, or as the system says: kept in this browser. */

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'postrider.theme';

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Shows it now, and at the next visit. */
export function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') {
    delete dataset.theme;
    localStorage.removeItem(KEY);
  } else {
    dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }
}
