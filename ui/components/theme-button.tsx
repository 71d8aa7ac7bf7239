/** Turns between the three themes; its name says which one is on. */
import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './button.tsx';
import { applyTheme, storedTheme, type Theme } from './theme.ts';

export const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
export const THEME_ICON = { system: Monitor, light: Sun, dark: Moon } as const;

export function useTheme(): readonly [Theme, (next: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  const turn = (next: Theme): void => {
    applyTheme(next);
    setTheme(next);
  };
  return [theme, turn];
}

export function ThemeButton() {
  const [theme, setTheme] = useTheme();
  const Icon = THEME_ICON[theme];
  return (
    <IconButton label={`Theme: ${theme}`} onClick={() => setTheme(NEXT_THEME[theme])}>
      <Icon size={16} aria-hidden />
    </IconButton>
  );
}
