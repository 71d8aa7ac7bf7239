/** Whether a media query holds, as it changes. */
import { useSyncExternalStore } from 'react';

/** List and mail side by side. */
export const TWO_PANES = '(min-width: 54rem)';

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}
