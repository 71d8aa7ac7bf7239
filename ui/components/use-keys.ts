/** The keys of a place: one letter each, as mail programs have them; none while somebody types or a dialog is open. */
import { useEffect, useRef } from 'react';

export type Keys = Readonly<Record<string, () => void>>;

/** `data-takes-keys`: an editor whose own elements are not seen from here. */
const TYPED_IN = 'input:not([type=checkbox]), textarea, select, [contenteditable], [data-takes-keys]';

export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('dialog[open], [role=menu]') !== null) return;
      if (target instanceof Element) {
        if (target.closest(TYPED_IN) !== null) return;
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
