/** Turns between the three themes; its name says which one is on. */
import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './button.tsx';
import { applyTheme, storedTheme, type Theme } from './theme.ts';

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const ICON = { system: Monitor, light: Sun, dark: Moon } as const;

export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const Icon = ICON[theme];
  const turn = (): void => {
    applyTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  return (
    <IconButton label={`Theme: ${theme}`} onClick={turn}>
      <Icon size={16} aria-hidden />
    </IconButton>
  );
}
