/** The keys of the inbox: one letter each, as mail programs have them; none while somebody types or a dialog is open. */
import { useEffect, useRef } from 'react';

export type Keys = Readonly<Record<string, () => void>>;

/** What each does, for the help. */
export const KEY_HELP = [
  ['j', 'next mail'],
  ['k', 'previous mail'],
  ['Enter', 'open the mail, and go to it'],
  ['u', 'back to the list'],
  ['x', 'select'],
  ['e', 'mark as read, or as unread'],
  ['#', 'delete'],
  ['/', 'search'],
  ['Esc', 'clear the selection or the search'],
  ['?', 'these keys'],
] as const;

export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('dialog[open], [role=menu]') !== null) return;
      if (target instanceof Element) {
        if (target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') !== null)
          return;
        // A button or link that is focused takes its own Enter.
        if (key === 'Enter' && target.closest('a, button, summary, input') !== null) return;
      }
      const run = current.current[key];
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
