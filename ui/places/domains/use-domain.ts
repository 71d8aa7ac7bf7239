/**
 * One sender domain while it is looked at. Until its records are right they are looked up again, sparingly, as long as the
 * page is in sight; who may not ask for that sees what the server finds by itself.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { Domain } from '../../../src/client/api-types.ts';
import { checkDomain, DOMAINS, domainKey, getDomain } from '../../api/domains.ts';
import { toastError } from '../../components/toasts.tsx';
import { type Live, useLive } from '../../components/use-live.ts';
import { isGreen } from './domain-status.ts';

/** The server looks at one domain at most every ten seconds. */
const SOON_MS = 15_000;
const LATER_MS = 60_000;
/** For this time after the page was opened. */
const EAGER_MS = 10 * 60_000;

export interface LiveDomain extends Live<Domain> {
  checkNow(): void;
  isChecking: boolean;
  /** When it is asked again by itself, in milliseconds from now; null: nothing is waited for. */
  everyMs: number | null;
  /** Shows what a change answered. */
  show(domain: Domain): void;
}

export function useDomain(name: string, mayCheck: boolean): LiveDomain {
  const queries = useQueryClient();
  const [opened] = useState(() => Date.now());
  const [isChecking, setChecking] = useState(false);
  const waitOf = (last: Domain | undefined): number =>
    last === undefined || (!isGreen(last) && Date.now() - opened < EAGER_MS) ? SOON_MS : LATER_MS;
  const live = useLive(
    domainKey(name),
    (signal) => {
      const last = queries.getQueryData<Domain>(domainKey(name));
      return mayCheck && last !== undefined && !isGreen(last)
        ? checkDomain(name, signal)
        : getDomain(name, signal);
    },
    waitOf,
  );
  const show = useCallback(
    (domain: Domain) => {
      queries.setQueryData(domainKey(name), domain);
      void queries.invalidateQueries({ queryKey: [...DOMAINS, 'list'] });
    },
    [queries, name],
  );
  const checkNow = (): void => {
    setChecking(true);
    void checkDomain(name)
      .then(show, toastError)
      .finally(() => setChecking(false));
  };
  const { data } = live;
  const isWaiting = mayCheck && data !== undefined && !isGreen(data);
  return { ...live, checkNow, isChecking, everyMs: isWaiting ? waitOf(data) : null, show };
}
